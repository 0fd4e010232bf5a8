/** A statement with its deadline (every call out has one): `withDeadline` in the words of the shards. */
import type { Clock } from '../../kernel/clock.ts';
import { withDeadline } from '../../kernel/deadline.ts';

/** Runs `call` and waits no longer than `ms`, even if it ignores its signal. */
export function bounded<T>(
  clock: Clock,
  ms: number,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return withDeadline(clock, { what: 'a statement of the shard log', timeoutMs: ms }, call);
}
