/**
 * Takes losses from the shards and makes them durable, many at once; the shards answer that something lost once it is (D9).
 *
 * Place: the shards' LossKeeper; CellControl reads the report.
 *
 * Invariants
 *  1. At most `reportLimit` wait; beyond that they are counted, and the report says that it omits some (P11).
 *  2. `report` waits for what was recorded before it was asked for, and for nothing later; no longer than its caller does.
 */
import type { Clock } from '../../kernel/clock.ts';
import { orAbort, withDeadline } from '../../kernel/deadline.ts';
import { toAtollError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import { retry, type BackOff } from '../../kernel/retry.ts';
import type { Rng } from '../../kernel/rng.ts';
import type { LossReport } from './loss-report.ts';
import type { Loss, LossKeeper, LostExecution } from '../../cell/shard/replicas/loss.ts';
import type { Losses } from './losses.ts';

const SAVE: BackOff = { name: 'loss-save', initialMs: 100, maxMs: 5_000, maxAttempts: 20 };
const SAVE_MS = 5_000;
const BATCH = 200;

export type LossRecorderParts = {
  readonly losses: Losses;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly log: Log;
  readonly config: { readonly reportLimit: number };
};

type Waiting = { readonly loss: Loss; readonly kept: () => void; readonly isKept: Promise<void> };

export class LossRecorder implements LossKeeper {
  readonly #parts: LossRecorderParts;
  readonly #omitted = new Map<string, number>();
  #waiting: Waiting[] = [];
  #isSaving = false;

  constructor(parts: LossRecorderParts) {
    this.#parts = parts;
  }

  kept(of: {
    readonly namespaceId: string;
    readonly epoch: number;
    readonly workflowId: string;
    readonly runId: string;
  }): Promise<LostExecution | undefined> {
    const { losses, clock } = this.#parts;
    const options = { what: 'reading the loss report', timeoutMs: SAVE_MS };
    return withDeadline(clock, options, (signal) => losses.find(of, signal));
  }

  /** Resolves once it is durable, or was given up and is counted. */
  keep(loss: Loss): Promise<void> {
    if (this.#waiting.length >= this.#parts.config.reportLimit) {
      this.#omit(loss, 1);
      return Promise.resolve();
    }
    let kept = () => {};
    const isKept = new Promise<void>((resolve) => (kept = resolve));
    this.#waiting.push({ loss, kept, isKept });
    this.#save();
    return isKept;
  }

  /** @throws the signal's reason; what the store throws */
  async report(namespaceId: string, signal: AbortSignal): Promise<LossReport> {
    // They are saved in their order.
    const last = this.#waiting.at(-1);
    if (last !== undefined) await orAbort(last.isKept, signal);
    const { losses, config } = this.#parts;
    const ask = { namespaceId, limit: config.reportLimit };
    const { epoch, executions, total } = await losses.list(ask, signal);
    const omitted = total - executions.length + (this.#omitted.get(namespaceId) ?? 0);
    return { namespaceId, epoch, executions, omitted };
  }

  /** What is recorded between the last save and its end is saved by another round. */
  #save(): void {
    if (this.#isSaving) return;
    this.#isSaving = true;
    void this.#saveAll().finally(() => {
      this.#isSaving = false;
      if (this.#waiting.length > 0) this.#save();
    });
  }

  async #saveAll(): Promise<void> {
    const { losses, clock, log } = this.#parts;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, BATCH);
      const options = { what: 'keeping the loss report', timeoutMs: SAVE_MS };
      try {
        await retry(SAVE, this.#parts, async () => {
          try {
            await withDeadline(clock, options, (signal) =>
              losses.add(
                batch.map(({ loss }) => loss),
                signal,
              ),
            );
            return { kind: 'done', value: undefined };
          } catch (error) {
            return { kind: 'retry', error };
          }
        });
      } catch (error) {
        for (const { loss } of batch) this.#omit(loss, 1);
        const fields = { losses: batch.length, error: toAtollError(error).message };
        log.error(fields, 'A part of the loss report could not be kept.');
      }
      this.#waiting = this.#waiting.slice(batch.length);
      for (const { kept } of batch) kept();
    }
  }

  #omit({ namespaceId }: Loss, count: number): void {
    this.#omitted.set(namespaceId, (this.#omitted.get(namespaceId) ?? 0) + count);
  }
}
