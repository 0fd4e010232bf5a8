/**
 * A lane at work: brings what its memory holds to its target, one push at a time (PROTOCOLS 7).
 *
 * Place: made by lane-sender.ts, woken when something was queued. Each turn does a push, the images that runs wait for, a
 * page of a copy and a repair that is due, so that none of them starves another.
 *
 * Invariants
 *  1. One turn at a time; none while nothing is to do: an idle lane costs nothing.
 *  2. After a failure it waits, longer each time, and never gives up; new work does not shorten the wait.
 *  3. From the beginning of a push to that of the next one it rests `pushEveryMs`: steps that commit meanwhile share it.
 *  4. What somebody else is to decide of, or the target cannot take for now, waits by itself, longer each time, and holds up
 *     nothing else.
 *  5. After `close` nothing is sent and no alarm is left.
 */
import { setMaxListeners } from 'node:events';
import type { CancelAlarm } from '../../kernel/clock.ts';
import { AtollError, toAtollError } from '../../kernel/errors.ts';
import { backOffMs } from '../../kernel/retry.ts';
import type { Rng } from '../../kernel/rng.ts';
import { PUSH_BACK_OFF } from '../config.ts';
import { copyPage, type Copied } from './copy-runs.ts';
import { timed, type LaneParts } from './lane-parts.ts';
import type { LaneState } from './lane-state.ts';
import { nextRepairAt, parkAfter, parkRun, repairParked } from './park-run.ts';
import { pushImages, unfitReason } from './push-images.ts';
import { pushSteps, type PushSize } from './push-steps.ts';

export class Lane {
  readonly #parts: LaneParts;
  readonly #rng: Rng;
  readonly #closing = new AbortController();
  readonly #size: PushSize;
  #working: Promise<void> | undefined;
  #alarm: CancelAlarm | undefined;
  #alarmAtMs = 0;
  #failures = 0;
  #blockedUntilMs = 0;
  /** No push begins before. */
  #restUntilMs = 0;
  /** Times in a row that something was postponed, and when it is tried again. */
  #undecided = 0;
  #resumeAtMs: number | undefined;

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

  /** There may be something to do. */
  wake(): void {
    if (this.#working !== undefined || this.#closing.signal.aborted) return;
    const nowMs = this.#parts.clock.monotonicMs();
    // There may be no alarm: what failed had left nothing to do.
    const notBeforeMs = Math.max(this.#blockedUntilMs, this.#restUntilMs);
    if (nowMs < notBeforeMs) return this.#sleepUntil(notBeforeMs);
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
    this.#resume();
    const { queue } = parts.state;
    const before = queue.postponements;
    const beganMs = parts.clock.monotonicMs();
    const pushed = beganMs >= this.#restUntilMs && (await pushSteps(parts, this.#size));
    if (pushed) this.#restUntilMs = beganMs + parts.config.pushEveryMs;
    if (queue.postponements > before) this.#postpone(true);
    if (parts.quota.available(parts.clock.monotonicMs()) === 0) return pushed;
    const repaired = await this.#sendAwaited();
    const copy = await this.#copy({ answered: pushed || repaired });
    const copied = copy === 'page';
    this.#postpone(copy === 'undecided' || queue.postponements > before);
    return (await repairParked(parts)) || pushed || repaired || copied;
  }

  /** A page of the copy. Where the target has just answered, its failure is that of the copy alone, which waits. */
  async #copy({ answered }: { readonly answered: boolean }): Promise<Copied> {
    if (this.#resumeAtMs !== undefined) return 'undecided';
    const { metrics, log } = this.#parts;
    try {
      return await copyPage(this.#parts);
    } catch (error) {
      if (!answered || this.#closing.signal.aborted) throw error;
      metrics.pushFailures.inc();
      log.debug({ error: toAtollError(error).message }, 'A page could not be copied.');
      return 'undecided';
    }
  }

  /** What was postponed is tried again when its time has come, a push of it at a time: one that goes well calls the next. */
  #resume(): void {
    const { state, clock, config } = this.#parts;
    if (this.#resumeAtMs !== undefined && clock.monotonicMs() < this.#resumeAtMs) return;
    this.#resumeAtMs = undefined;
    state.queue.resume(config.pushItems);
  }

  #postpone(isAgain: boolean): void {
    if (!isAgain) {
      if (!this.#parts.state.queue.hasPostponed) this.#undecided = 0;
    } else if (this.#resumeAtMs === undefined) {
      this.#undecided += 1;
      const waitMs = backOffMs(PUSH_BACK_OFF, this.#undecided, this.#rng);
      this.#resumeAtMs = this.#parts.clock.monotonicMs() + waitMs;
    }
  }

  /** The images that runs wait for. */
  async #sendAwaited(): Promise<boolean> {
    const { state, config } = this.#parts;
    const first = state.queue.waiting(config.imageBatch);
    if (first.length === 0) return false;
    const sentImages = await pushImages(this.#parts, first, { repair: false });
    for (const [i, sent] of sentImages.entries()) {
      const entry = first[i];
      const { outcome, upTo, lineage, patience } = sent;
      if (entry === undefined) continue;
      const { runId } = entry;
      const reason = unfitReason(outcome);
      if (outcome.kind === 'undecided') state.queue.postponeRun(runId);
      else if (reason === undefined) {
        state.taken(runId);
        state.queue.release(runId, { upTo, lineage });
      } else if (outcome.kind !== 'later') await parkRun(this.#parts, { ...entry, reason });
      else if (!(await parkAfter(this.#parts, { ...entry, reason }, patience))) {
        state.queue.postponeRun(runId);
      }
    }
    return true;
  }

  /** What an earlier process of this cell has parked. */
  async #readLetters(): Promise<void> {
    if (this.state.lettersRead) return;
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
    state.lettersRead = true;
  }

  /** After work has ended: goes on when the back-off, the quota or a repair says so, or at once if more came meanwhile. */
  #sleepOrGoOn(): void {
    const { clock } = this.#parts;
    const nowMs = clock.monotonicMs();
    const dueMs = this.#dueMs(nowMs);
    if (dueMs === undefined) return;
    // Never 0: what cannot go on now must not spin.
    this.#sleepUntil(nowMs + Math.max(1, dueMs, this.#blockedUntilMs - nowMs));
  }

  #sleepUntil(atMs: number): void {
    if (this.#alarm !== undefined && this.#alarmAtMs <= atMs) return;
    const { clock } = this.#parts;
    this.#alarm?.();
    this.#alarmAtMs = atMs;
    this.#alarm = clock.after(Math.max(1, atMs - clock.monotonicMs()), () => {
      this.#alarm = undefined;
      this.wake();
    });
  }

  /** In how many ms there is something to do; undefined: not before something comes. */
  #dueMs(nowMs: number): number | undefined {
    const { clock, quota, state } = this.#parts;
    const { queue } = state;
    const resumeAtMs = this.#resumeAtMs ?? (queue.hasPostponed ? nowMs : undefined);
    const resumeMs = resumeAtMs === undefined ? undefined : resumeAtMs - nowMs;
    const copies = state.isCopying && resumeMs === undefined;
    if (queue.waiting(1).length > 0 || copies) return quota.waitMs(nowMs);
    if (queue.hasReady) return Math.max(quota.waitMs(nowMs), this.#restUntilMs - nowMs);
    const repairAt = nextRepairAt(this.#parts);
    const repairMs = repairAt === undefined ? undefined : Math.max(0, repairAt - clock.now());
    const due = [resumeMs, repairMs].filter((ms) => ms !== undefined);
    return due.length === 0 ? undefined : Math.min(...due);
  }
}
