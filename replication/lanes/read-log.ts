/** Reads the rows of a shard's log that a lane lacks, trying for as long as a lane may wait. */
import type { Replicas } from '../../cell/shard/replicas/replicas.ts';
import type { Seq, ShardId } from '../../cell/storage/shard-log.ts';
import type { Clock } from '../../kernel/clock.ts';
import { withDeadline } from '../../kernel/deadline.ts';
import { AtollError } from '../../kernel/errors.ts';
import { retry, type BackOff } from '../../kernel/retry.ts';
import type { Rng } from '../../kernel/rng.ts';
import type { ReplicationConfig } from '../config.ts';
import { bytesOf, type FedRow } from './shard-feed.ts';

const READ_BACK_OFF: BackOff = {
  name: 'lane-log-read',
  initialMs: 50,
  maxMs: 2_000,
  maxAttempts: 8,
};

type Ports = {
  readonly clock: Clock;
  readonly rng: Rng;
  readonly config: ReplicationConfig;
  readonly signal: AbortSignal;
};

/**
 * The rows above `after` up to `through`, page by page. What is missing in the log is missing in them, too.
 * Errors: `resource-exhausted` when they are more than `loadingBytes`, `unavailable` when the log was not to be read
 */
export async function readLog(
  replicas: Replicas,
  ask: { readonly shard: ShardId; readonly after: Seq; readonly through: Seq },
  ports: Ports,
): Promise<readonly FedRow[]> {
  const { shard, through } = ask;
  const { loadingBytes } = ports.config;
  const rows: FedRow[] = [];
  let bytes = 0;
  for (let { after } = ask; after < through;) {
    const page = await readPage(replicas, { shard, after }, ports);
    const last = page.at(-1);
    if (last === undefined) break;
    rows.push(...page);
    bytes += page.reduce((sum, row) => sum + bytesOf(row), 0);
    if (bytes > loadingBytes) {
      throw new AtollError(
        'resource-exhausted',
        `The rows of shard ${shard} that lanes lack are more than ${loadingBytes} bytes (loadingBytes).`,
      );
    }
    after = last.seq;
  }
  return rows;
}

function readPage(
  replicas: Replicas,
  { shard, after }: { readonly shard: ShardId; readonly after: Seq },
  ports: Ports,
): Promise<readonly FedRow[]> {
  const { clock, config, signal } = ports;
  const options = {
    what: `reading the log of shard ${shard}`,
    timeoutMs: config.callMs,
    parent: signal,
  };
  const page = { after, limit: config.logPageRows };
  return retry(READ_BACK_OFF, ports, async () => {
    try {
      const value = await withDeadline(clock, options, (inner) =>
        replicas.logAfter(shard, page, inner),
      );
      return { kind: 'done', value };
    } catch (error) {
      return { kind: 'retry', error };
    }
  });
}
