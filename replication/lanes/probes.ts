/**
 * Once a second, per target and not per namespace: tells it that this cell lives and how far behind its lanes are, so
 * that it can estimate a loss (D10). On the way lanes are held to their age, and measured.
 *
 * Invariants
 *  1. No alarm while no namespace is replicated: an unreplicated cell does nothing.
 *  2. One probe at a time per target, each with a deadline.
 */
import type { CancelAlarm, Clock } from '../../kernel/clock.ts';
import { withDeadline } from '../../kernel/deadline.ts';
import { toAtollError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import type { ReplicationConfig } from '../config.ts';
import type { Lane } from './lane.ts';
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
      const { queue } = state;
      const oldestAt = queue.oldestAt();
      if (state.isCopying) copying += 1;
      pending += queue.size;
      bytes += queue.bytes;
      if (oldestAt !== undefined) lagMs = Math.max(lagMs, now - oldestAt);
      if (queue.size === 0 && state.told === 0) continue;
      state.told = queue.size;
      told.push(lane);
      backlogs.push({ namespaceId: state.key.namespaceId, pending: queue.size, oldestAt });
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
