/** What clients and workers share: the way to a host that serves a workflow id, and calls that are sent until they are answered. */
import { sleep } from '../../kernel/clock.ts';
import type { ErrorCode } from '../../kernel/errors.ts';
import type { SeededRng } from '../../kernel/testing/seeded-rng.ts';
import { shardOf } from '../../cell/shard/shard-of.ts';
import type { ShardId } from '../../cell/storage/shard-log.ts';
import type { Request, RpcName } from '../../wire/services.ts';
import type { Faults } from './faults.ts';
import { NAMESPACE_ID } from './host.ts';
import type { Journal } from './journal.ts';
import type { Callee, Network, Outcome } from './network.ts';
import type { Trace } from './trace.ts';
import type { WorldTime } from './world-time.ts';

export type Callers = {
  readonly time: WorldTime;
  readonly rng: SeededRng;
  readonly network: Network;
  readonly cluster: { route(shard: ShardId): Callee | undefined };
  readonly shardCount: number;
  readonly faults: Faults;
  readonly journal: Journal;
  readonly trace: Trace;
};

/** What a caller tries again after: the call may or may not have happened. */
const AGAIN: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'unavailable',
  'deadline-exceeded',
  'resource-exhausted',
  'cancelled',
  'aborted',
]);
const CALL_MS = 12_000;

/** One call to a host that may serve the workflow id. */
export async function callOnce<M extends RpcName>(
  callers: Callers,
  workflowId: string,
  rpc: { readonly name: M; readonly request: Request<M> },
  deadlineMs = CALL_MS,
): Promise<Outcome<M>> {
  const host = callers.cluster.route(shardOf(NAMESPACE_ID, workflowId, callers.shardCount));
  if (!host) return { kind: 'lost' };
  const outcome = await callers.network.call(host, rpc, deadlineMs);
  if (outcome.kind === 'refused') {
    const { code, message } = outcome.error;
    callers.trace.note(`${host.name} refuses ${rpc.name} ${workflowId}: ${code} ${message}`);
    if (code === 'internal' || code === 'data-loss' || code === 'unimplemented') {
      callers.journal.breaches.push(
        `${rpc.name} of ${workflowId} was answered ${code}: ${message}`,
      );
    }
  }
  return outcome;
}

/** Calls, the same each time, until an answer or a refusal that is final. `begunMs` is that of the last attempt. */
export async function callUntilAnswered<M extends RpcName>(
  callers: Callers,
  workflowId: string,
  rpc: { readonly name: M; readonly request: Request<M> },
  options: { readonly tries: number; readonly deadlineMs?: number },
): Promise<Outcome<M> & { readonly begunMs: number; readonly endedMs: number }> {
  const { time, rng } = callers;
  for (let tried = 1; ; tried += 1) {
    const begunMs = time.monotonicMs();
    const outcome = await callOnce(callers, workflowId, rpc, options.deadlineMs);
    const again =
      outcome.kind === 'lost' || (outcome.kind === 'refused' && AGAIN.has(outcome.error.code));
    if (!again || tried === options.tries) {
      return { ...outcome, begunMs, endedMs: time.monotonicMs() };
    }
    await sleep(time, 50 + rng.fraction() * 400);
  }
}
