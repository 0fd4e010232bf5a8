/** What the parts of a lane share: its memory, its target and its ports. */
import type { Replicas } from '../../cell/shard/replicas/replicas.ts';
import type { Clock } from '../../kernel/clock.ts';
import { withDeadline } from '../../kernel/deadline.ts';
import type { Log } from '../../kernel/log.ts';
import type { ReplicationConfig } from '../config.ts';
import type { DeadLetters } from '../dead-letters.ts';
import type { LaneMetrics } from './lane-metrics.ts';
import type { FollowedMap } from '../followed-map.ts';
import type { LaneState } from './lane-state.ts';
import type { ReplicaPeer } from '../peer.ts';
import type { PushSlots } from './push-slots.ts';
import type { Quota } from './quota.ts';

export type LaneParts = {
  readonly cellId: string;
  readonly map: Pick<FollowedMap, 'namespaceById'>;
  readonly state: LaneState;
  readonly peer: ReplicaPeer;
  readonly slots: PushSlots;
  readonly quota: Quota;
  readonly replicas: Replicas;
  readonly deadLetters: DeadLetters;
  readonly metrics: LaneMetrics;
  readonly clock: Clock;
  readonly log: Log;
  readonly config: ReplicationConfig;
  /** Aborts when the lane is closed. */
  readonly signal: AbortSignal;
};

/** What is called, and, where that is not `callMs`, how long it may take. */
export type CallOptions = { readonly what: string; readonly timeoutMs?: number | undefined };

/** A call to the target: in its turn, and under its deadline. Only its answer says that the target is heard. */
export async function callTarget<Result>(
  parts: LaneParts,
  options: CallOptions,
  call: (peer: ReplicaPeer, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const { slots, signal, state, clock } = parts;
  const answer = await slots.run(signal, () =>
    within(parts, options, (inner) => call(parts.peer, inner)),
  );
  state.heardMs = clock.monotonicMs();
  return answer;
}

/** A call into this cell, or any other that takes no turn. */
export function timed<Result>(
  parts: LaneParts,
  what: string,
  call: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  return within(parts, { what }, call);
}

function within<Result>(
  { clock, config, signal }: LaneParts,
  { what, timeoutMs = config.callMs }: CallOptions,
  call: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  return withDeadline(clock, { what, timeoutMs, parent: signal }, call);
}
