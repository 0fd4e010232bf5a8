/**
 * Once a second, per target and not per namespace: tells it that this cell lives and how far behind its lanes are, so
 * that it can estimate a loss (D10). On the way lanes are held to their age, and measured.
 *
 * Invariants
 *  1. No alarm while no namespace is replicated: an unreplicated cell does nothing.
 *  2. One probe at a time per target, each with a deadline.
 */
import type { CancelAlarm, Clock, EpochMs } from '../../kernel/clock.ts';
import { withDeadline } from '../../kernel/deadline.ts';
import { toAtollError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import type { ReplicationConfig } from '../config.ts';
import { backlogOf } from './lane-backlog.ts';
import type { Lane } from './lane.ts';
import type { LaneState } from './lane-state.ts';
import type { LaneBacklog } from '../peer.ts';
import type { Target } from './target.ts';

export class Probes {
  readonly #ports: {
    readonly clock: Clock;
    readonly log: Log;
    readonly config: ReplicationConfig;
  };
  readonly #targets: () => Iterable<Target>;
  readonly #closing = new AbortController();
  #alarm: CancelAlarm | undefined;

  constructor(
    ports: { readonly clock: Clock; readonly log: Log; readonly config: ReplicationConfig },
    lanes: { readonly targets: () => Iterable<Target> },
  ) {
    this.#ports = ports;
    this.#targets = lanes.targets;
  }

  /** The lanes changed: begins probing if there are any. */
  wake(): void {
    if (this.#alarm !== undefined || this.#closing.signal.aborted) return;
    if ([...this.#targets()].length === 0) return;
    this.#alarm = this.#ports.clock.after(this.#ports.config.probeEveryMs, () => {
      this.#alarm = undefined;
      for (const target of this.#targets()) this.#look(target);
      this.wake();
    });
  }

  close(): void {
    this.#alarm?.();
    this.#closing.abort(toAtollError('stopping'));
  }

  #look(target: Target): void {
    const now = this.#ports.clock.now();
    const { metrics } = target;
    let [copying, pending, bytes, lagMs] = [0, 0, 0, 0];
    const backlogs: LaneBacklog[] = [];
    const told: Lane[] = [];
    for (const lane of target.lanes) {
      const { state } = lane;
      if (state.tooOld(now)) {
        metrics.overBudget.inc();
        this.#ports.log.warn({ ...state.key }, 'A lane is past its time budget: it copies.');
        lane.wake();
      }
      const backlog = backlogOf(state);
      if (backlog.copy) copying += 1;
      pending += backlog.pending;
      bytes += state.queue.bytes;
      lagMs = Math.max(lagMs, now - behindSince(state, backlog, now));
      if (backlog.pending === 0 && state.told === 0) continue;
      state.told = backlog.pending;
      told.push(lane);
      backlogs.push(backlog);
    }
    metrics.lanes.set(target.lanes.size);
    metrics.copying.set(copying);
    metrics.pending.set(pending);
    metrics.pendingBytes.set(bytes);
    metrics.lagMs.set(lagMs);
    if (target.isProbed) this.#unheard(told);
    else void this.#probe(target, { backlogs, told });
  }

  async #probe(
    target: Target,
    {
      backlogs,
      told,
    }: { readonly backlogs: readonly LaneBacklog[]; readonly told: readonly Lane[] },
  ): Promise<void> {
    const { clock, config, log } = this.#ports;
    target.isProbed = true;
    const options = {
      what: `probing cell ${target.cellId}`,
      timeoutMs: config.callMs,
      parent: this.#closing.signal,
    };
    try {
      const sentAt = clock.now();
      const { now } = await withDeadline(clock, options, (signal) =>
        target.peer.probe(backlogs, signal),
      );
      target.heardMs = clock.monotonicMs();
      if (now > 0) target.told(now, { sentAt, heardAt: clock.now() });
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      this.#unheard(told);
      const fields = { target: target.cellId, error: toAtollError(error).message };
      log.debug(fields, 'A probe failed.');
    } finally {
      target.isProbed = false;
    }
  }

  /** They are told again with the next probe. */
  #unheard(lanes: readonly Lane[]): void {
    for (const { state } of lanes) state.told = -1;
  }
}

/** Since when the target lacks something, as far as is known; at least since that was first seen. */
function behindSince(state: LaneState, { pending, oldestAt }: LaneBacklog, now: EpochMs): EpochMs {
  const isUnclear = pending > 0 && oldestAt === undefined;
  state.unclearSince = isUnclear ? (state.unclearSince ?? now) : undefined;
  return oldestAt ?? state.unclearSince ?? now;
}
