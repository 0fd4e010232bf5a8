/**
 * Takes losses from the shards, which must not wait, and makes them durable behind them (D9).
 *
 * Place: given to the shards as a callback; CellControl reads the report.
 *
 * Invariants
 *  1. At most `reportLimit` wait; beyond that they are counted, and the report says that it omits some (P11).
 *  2. `report` waits for what was recorded before it was asked for.
 */
import type { Clock } from '../../kernel/clock.ts';
import { withDeadline } from '../../kernel/deadline.ts';
import { toAtollError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import { retry, type BackOff } from '../../kernel/retry.ts';
import type { Rng } from '../../kernel/rng.ts';
import type { LossReport } from './loss-report.ts';
import type { Loss } from '../../cell/shard/loss.ts';
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

export class LossRecorder {
  readonly #parts: LossRecorderParts;
  readonly #omitted = new Map<string, number>();
  #waiting: Loss[] = [];
  #saving: Promise<void> | undefined;

  constructor(parts: LossRecorderParts) {
    this.#parts = parts;
  }

  /** Never throws, never waits. */
  record(loss: Loss): void {
    if (this.#waiting.length >= this.#parts.config.reportLimit) this.#omit(loss, 1);
    else this.#waiting.push(loss);
    this.#save();
  }

  async report(namespaceId: string, signal: AbortSignal): Promise<LossReport> {
    while (this.#saving) await this.#saving;
    const { losses, config } = this.#parts;
    const ask = { namespaceId, limit: config.reportLimit };
    const { epoch, executions, total } = await losses.list(ask, signal);
    const omitted = total - executions.length + (this.#omitted.get(namespaceId) ?? 0);
    return { namespaceId, epoch, executions, omitted };
  }

  /** What is recorded between the last save and its end is saved by another round. */
  #save(): void {
    this.#saving ??= this.#saveAll().finally(() => {
      this.#saving = undefined;
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
            await withDeadline(clock, options, (signal) => losses.add(batch, signal));
            return { kind: 'done', value: undefined };
          } catch (error) {
            return { kind: 'retry', error };
          }
        });
      } catch (error) {
        for (const loss of batch) this.#omit(loss, 1);
        const fields = { losses: batch.length, error: toAtollError(error).message };
        log.error(fields, 'A part of the loss report could not be kept.');
      }
      this.#waiting = this.#waiting.slice(batch.length);
    }
  }

  #omit({ namespaceId }: Loss, count: number): void {
    this.#omitted.set(namespaceId, (this.#omitted.get(namespaceId) ?? 0) + count);
  }
}
