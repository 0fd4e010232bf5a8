/** Reads the rows of a shard's log that a lane lacks, trying for as long as a lane may wait. */
import type { Replicas } from '../../cell/shard/replicas/replicas.ts';
import type { Seq, ShardId } from '../../cell/storage/shard-log.ts';
import type { Clock } from '../../kernel/clock.ts';
import { withDeadline } from '../../kernel/deadline.ts';
import { retry, type BackOff } from '../../kernel/retry.ts';
import type { Rng } from '../../kernel/rng.ts';
import type { ReplicationConfig } from '../config.ts';
import type { FedRow } from './shard-feed.ts';

const READ_BACK_OFF: BackOff = {
  name: 'lane-log-read',
  initialMs: 50,
  maxMs: 2_000,
  maxAttempts: 8,
};

export function readLog(
  replicas: Replicas,
  ask: { readonly shard: ShardId; readonly after: Seq },
  ports: {
    readonly clock: Clock;
    readonly rng: Rng;
    readonly config: ReplicationConfig;
    readonly signal: AbortSignal;
  },
): Promise<readonly FedRow[]> {
  const { clock, config, signal } = ports;
  const options = {
    what: `reading the log of shard ${ask.shard}`,
    timeoutMs: config.callMs,
    parent: signal,
  };
  return retry(READ_BACK_OFF, ports, async () => {
    try {
      const value = await withDeadline(clock, options, (inner) =>
        replicas.logAfter(ask.shard, ask.after, inner),
      );
      return { kind: 'done', value };
    } catch (error) {
      return { kind: 'retry', error };
    }
  });
}
