/**
 * A lane at work: brings what its memory holds to its target, one push at a time (PROTOCOLS 7).
 *
 * Place: made by lane-sender.ts, woken when something was queued. Each turn does a push, the images that runs wait for, a
 * page of a copy and a repair that is due, so that none of them starves another.
 *
 * Invariants
 *  1. One turn at a time; none while nothing is to do: an idle lane costs nothing.
 *  2. After a failure it waits, longer each time, and never gives up; new work does not shorten the wait.
 *  3. After `close` nothing is sent and no alarm is left.
 */
import { setMaxListeners } from 'node:events';
import type { CancelAlarm } from '../../kernel/clock.ts';
import { AtollError, toAtollError } from '../../kernel/errors.ts';
import { backOffMs } from '../../kernel/retry.ts';
import type { Rng } from '../../kernel/rng.ts';
import { PUSH_BACK_OFF } from '../config.ts';
import { copyPage } from './copy-runs.ts';
import { timed, type LaneParts } from './lane-parts.ts';
import type { LaneState } from './lane-state.ts';
import { nextRepairAt, parkRun, repairParked } from './park-run.ts';
import { pushImages, unfitReason } from './push-images.ts';
import { pushSteps, type PushSize } from './push-steps.ts';

export class Lane {
  readonly #parts: LaneParts;
  readonly #rng: Rng;
  readonly #closing = new AbortController();
  readonly #size: PushSize;
  #working: Promise<void> | undefined;
  #alarm: CancelAlarm | undefined;
  #failures = 0;
  #blockedUntilMs = 0;
  /** Monotonic time of the target's last answer. */
  #heardMs: number | undefined;
  #lettersRead = false;

  constructor(parts: Omit<LaneParts, 'signal'>, rng: Rng) {
    // One listener per call of a turn: images are read side by side.
    setMaxListeners(0, this.#closing.signal);
    this.#parts = { ...parts, signal: this.#closing.signal };
    this.#rng = rng;
    this.#size = { limit: parts.config.pushItems, suspicions: 0 };
  }

  get state(): LaneState {
    return this.#parts.state;
  }

  get heardMs(): number | undefined {
    return this.#heardMs;
  }

  /** There may be something to do. */
  wake(): void {
    if (this.#working !== undefined || this.#closing.signal.aborted) return;
    if (this.#parts.clock.monotonicMs() < this.#blockedUntilMs) return;
    this.#alarm?.();
    this.#alarm = undefined;
    this.#working = this.#work().finally(() => {
      this.#working = undefined;
      if (!this.#closing.signal.aborted) this.#sleepOrGoOn();
    });
  }

  async close(): Promise<void> {
    this.#closing.abort(new AtollError('cancelled', 'the lane is closed'));
    this.#alarm?.();
    await this.#working;
  }

  /** Turn after turn until nothing is to do, or one failed. Never rejects. */
  async #work(): Promise<void> {
    const { clock, log, metrics } = this.#parts;
    try {
      while (!this.#closing.signal.aborted && (await this.#turn())) this.#failures = 0;
      this.#failures = 0;
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      this.#failures += 1;
      metrics.pushFailures.inc();
      const waitMs = backOffMs(PUSH_BACK_OFF, this.#failures, this.#rng);
      this.#blockedUntilMs = clock.monotonicMs() + waitMs;
      const { code, message } = toAtollError(error);
      const level = this.#failures === 5 ? 'warn' : 'debug';
      log[level]({ code, error: message, failures: this.#failures, waitMs }, 'A push failed.');
    }
  }

  /** False when there was nothing to do. */
  async #turn(): Promise<boolean> {
    const parts = this.#parts;
    await this.#readLetters();
    const pushed = await pushSteps(parts, this.#size);
    if (pushed) this.#heard();
    if (parts.quota.available(parts.clock.monotonicMs()) === 0) return pushed;
    const repaired = await this.#sendAwaited();
    const copied = await copyPage(parts);
    if (repaired || copied) this.#heard();
    return (await repairParked(parts)) || pushed || repaired || copied;
  }

  /** The images that runs wait for. */
  async #sendAwaited(): Promise<boolean> {
    const { state, config } = this.#parts;
    const first = state.queue.waiting(config.imageBatch);
    if (first.length === 0) return false;
    const sentImages = await pushImages(this.#parts, first, { repair: false });
    for (const [i, sent] of sentImages.entries()) {
      const entry = first[i];
      const { outcome, upTo, lineage } = sent;
      if (entry === undefined) continue;
      const reason = unfitReason(outcome);
      if (reason === undefined) state.queue.release(entry.runId, { upTo, lineage });
      else await parkRun(this.#parts, { ...entry, reason });
    }
    return true;
  }

  /** What an earlier process of this cell has parked. */
  async #readLetters(): Promise<void> {
    if (this.#lettersRead) return;
    const { state, deadLetters, config, clock } = this.#parts;
    const options = { repairedToo: false, limit: config.parkedRuns };
    const letters = await timed(this.#parts, 'reading dead letters', (signal) =>
      deadLetters.list(state.key, options, signal),
    );
    for (const { workflowId, runId } of letters) {
      const known = state.parked.get(runId)?.letters ?? 0;
      const repairAt = clock.now() + config.repairAfterMs;
      state.parked.set(runId, { workflowId, runId, letters: known + 1, repairs: 0, repairAt });
      state.queue.dropRun(runId);
    }
    this.#lettersRead = true;
  }

  #heard(): void {
    this.#heardMs = this.#parts.clock.monotonicMs();
  }

  /** After work has ended: goes on when the back-off, the quota or a repair says so, or at once if more came meanwhile. */
  #sleepOrGoOn(): void {
    const { clock, quota, state } = this.#parts;
    const nowMs = clock.monotonicMs();
    const hasWork = state.queue.hasReady || state.queue.waiting(1).length > 0 || state.isCopying;
    const repairAt = nextRepairAt(this.#parts);
    if (!hasWork && repairAt === undefined) return;
    const dueMs = hasWork ? quota.waitMs(nowMs) : Math.max(0, (repairAt ?? 0) - clock.now());
    // Never 0: what cannot go on now must not spin.
    const waitMs = Math.max(1, dueMs, this.#blockedUntilMs - nowMs);
    this.#alarm?.();
    this.#alarm = clock.after(waitMs, () => {
      this.#alarm = undefined;
      this.wake();
    });
  }
}
