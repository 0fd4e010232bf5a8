/** A cell that lanes lead to: its peer, its turns, its series, and when it last answered a probe. */
import type { Metrics } from '../../kernel/metrics.ts';
import type { ReplicationConfig } from '../config.ts';
import { laneMetrics, type LaneMetrics } from './lane-metrics.ts';
import type { Lane } from './lane.ts';
import type { ReplicaPeer } from '../peer.ts';
import { PushSlots } from './push-slots.ts';

export class Target {
  readonly cellId: string;
  readonly peer: ReplicaPeer;
  readonly slots: PushSlots;
  readonly metrics: LaneMetrics;
  readonly lanes = new Set<Lane>();
  /** Monotonic time of its last answer to a probe. */
  heardMs: number | undefined;
  /** How far its clock is ahead of ours, at least, ms; undefined: not known. */
  skewMs: number | undefined;
  isProbed = false;

  /** It answered a probe with its time: on its way the answer may have been anywhere between the two times of ours. */
  told(now: number, between: { readonly sentAt: number; readonly heardAt: number }): void {
    const { sentAt, heardAt } = between;
    if (now > heardAt) this.skewMs = now - heardAt;
    else this.skewMs = Math.min(0, now - sentAt);
  }

  /** No lane leads there any more: nothing is pending. */
  left(): void {
    const { lanes, copying, pending, pendingBytes, lagMs } = this.metrics;
    for (const gauge of [lanes, copying, pending, pendingBytes, lagMs]) gauge.set(0);
  }

  constructor(
    cellId: string,
    parts: {
      readonly peer: ReplicaPeer;
      readonly metrics: Metrics;
      readonly config: ReplicationConfig;
    },
  ) {
    this.cellId = cellId;
    this.peer = parts.peer;
    this.slots = new PushSlots(parts.config.pushesPerTarget);
    this.metrics = laneMetrics(parts.metrics, cellId);
  }
}
