/**
 * A fault wrapper round the storage port: reports a step of the protocol and waits there to be killed.
 *
 * Place: loaded by the mains of this folder only, between the adapter and the engine. Shipped code has no switch for it.
 *
 * Invariants
 *  1. Unarmed it changes nothing: every call goes through, every answer comes back.
 *  2. An armed step is reported once. The call that reached it never returns; other calls go on.
 *  3. "In flight" means that the statement had its turn to be sent and that no answer had come when it was reported.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type {
  AppendOutcome,
  Checkpoint,
  LogRow,
  SessionId,
  ShardId,
  ShardLog,
} from '../../cell/storage/shard-log.ts';
import type { Step } from './step.ts';

export class StepFault {
  readonly #report: (step: Step) => void;
  #armed: Step | undefined;

  /** @param report tells the harness that the step is reached */
  constructor(report: (step: Step) => void) {
    this.#report = report;
  }

  /** Stops at the next such step; undefined disarms. */
  arm(step: Step | undefined): void {
    this.#armed = step;
  }

  /** The log with this fault round it. */
  wrap(log: ShardLog): ShardLog {
    return new FaultedLog(log, this);
  }

  /** Passes unless the step is armed; else reports, and never returns. */
  async at(step: Step): Promise<void> {
    if (this.#armed !== step) return;
    this.#armed = undefined;
    this.#report(step);
    await new Promise<never>(() => {});
  }

  /** Waits for the answer of a statement that was sent; stops before it if `step` is armed and it is still out. */
  async inFlight<Answer>(step: Step, answer: Promise<Answer>): Promise<Answer> {
    if (this.#armed !== step) return answer;
    let answered = false;
    const settled = answer.finally(() => (answered = true));
    settled.catch(() => {});
    await nextTurn();
    if (!answered) await this.at(step);
    return settled;
  }
}

class FaultedLog implements ShardLog {
  readonly #inner: ShardLog;
  readonly #fault: StepFault;
  readonly #deletedTo = new Map<ShardId, number>();

  constructor(inner: ShardLog, fault: StepFault) {
    this.#inner = inner;
    this.#fault = fault;
  }

  async append(
    rows: readonly LogRow[],
    session: SessionId,
    signal: AbortSignal,
  ): Promise<readonly AppendOutcome[]> {
    const takeover = rows.some((row) => row.takeover);
    if (takeover) await this.#fault.at('takeover, row not sent');
    const answer = this.#inner.append(rows, session, signal);
    const outcomes = takeover
      ? await answer
      : await this.#fault.inFlight('append in flight', answer);
    if (outcomes.some((outcome) => outcome.kind === 'committed')) {
      await this.#fault.at(takeover ? 'takeover, row stored' : 'append stored and not answered');
    }
    return outcomes;
  }

  async claim(shard: ShardId, signal: AbortSignal) {
    const range = await this.#inner.claim(shard, signal);
    await this.#fault.at('takeover, claimed');
    return range;
  }

  async checkpoint(batch: readonly Checkpoint[], signal: AbortSignal): Promise<readonly ShardId[]> {
    const moved = await this.#fault.inFlight('checkpoint', this.#inner.checkpoint(batch, signal));
    if (this.#truncates(batch, moved)) await this.#fault.at('truncation');
    return moved;
  }

  verify: ShardLog['verify'] = (claims, signal) => this.#inner.verify(claims, signal);
  position: ShardLog['position'] = (shard, signal) => this.#inner.position(shard, signal);
  tail: ShardLog['tail'] = (shard, signal) => this.#inner.tail(shard, signal);
  rowsAfter: ShardLog['rowsAfter'] = (shard, page, signal) =>
    this.#inner.rowsAfter(shard, page, signal);

  /** Whether a shard that moved had rows of its log deleted that an earlier checkpoint had not. */
  #truncates(batch: readonly Checkpoint[], moved: readonly ShardId[]): boolean {
    const deleting = batch.filter(
      ({ shard, deleteTo }) =>
        moved.includes(shard) && deleteTo > (this.#deletedTo.get(shard) ?? 0),
    );
    for (const { shard, deleteTo } of deleting) this.#deletedTo.set(shard, deleteTo);
    return deleting.length > 0;
  }
}
