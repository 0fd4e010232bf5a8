/**
 * Queries of one run that wait for an answer (BEHAVIOURS 19). A query rides on the run's next workflow task when one is
 * pending, else it is a task of its own. Memory only: a query that is lost with its owner fails at its caller's deadline.
 *
 * Invariants
 *  1. A query is answered at most once; later answers are ignored.
 *  2. It is shown only states that were proven current after it came in (its caller did that before `add`).
 */
import type { AtollError } from '../../../kernel/errors.ts';
import type { QueryAnswer, WorkflowQuery } from '../engine.ts';

type Place =
  /** For the next workflow task to carry. */
  | { readonly kind: 'waiting' }
  /** Offered to matching as a task of its own. */
  | { readonly kind: 'offered' }
  /** On a workflow task in a worker's hand. */
  | { readonly kind: 'riding' }
  /** In a worker's hand, as a task of its own. */
  | { readonly kind: 'sent' };

type Waiter = {
  readonly query: WorkflowQuery;
  readonly resolve: (answer: QueryAnswer) => void;
  readonly reject: (error: AtollError) => void;
  place: Place;
};

export class RunQueries {
  readonly #waiters = new Map<string, Waiter>();

  get busy(): boolean {
    return this.#waiters.size > 0;
  }

  get size(): number {
    return this.#waiters.size;
  }

  /** Registers a query; the promise settles with its answer. */
  add(id: string, query: WorkflowQuery): Promise<QueryAnswer> {
    const answer = new Promise<QueryAnswer>((resolve, reject) => {
      this.#waiters.set(id, { query, resolve, reject, place: { kind: 'waiting' } });
    });
    answer.catch(() => {}); // It may fail before its caller waits for it.
    return answer;
  }

  remove(id: string): void {
    this.#waiters.delete(id);
  }

  answer(id: string, answer: QueryAnswer): void {
    this.#waiters.get(id)?.resolve(answer);
    this.#waiters.delete(id);
  }

  fail(error: AtollError): void {
    for (const waiter of this.#waiters.values()) waiter.reject(error);
    this.#waiters.clear();
  }

  /**
   * All that wait ride on the task being started; those in a worker's hand too, since the task that carried them has
   * ended without their answer, and a second answer does no harm.
   */
  ride(): ReadonlyMap<string, WorkflowQuery> {
    const riders = new Map<string, WorkflowQuery>();
    for (const [id, waiter] of this.#waiters) {
      waiter.place = { kind: 'riding' };
      riders.set(id, waiter.query);
    }
    return riders;
  }

  /** The task that carried them has ended: those that it left without an answer wait again. */
  dismount(): void {
    for (const waiter of this.#waiters.values())
      if (waiter.place.kind === 'riding') waiter.place = { kind: 'waiting' };
  }

  /** Those to be offered as tasks of their own, since no workflow task is pending. */
  toOffer(): readonly string[] {
    const ids: string[] = [];
    for (const [id, waiter] of this.#waiters) {
      if (waiter.place.kind !== 'waiting') continue;
      waiter.place = { kind: 'offered' };
      ids.push(id);
    }
    return ids;
  }

  /** A poller took the query's own task. Undefined when it is gone or already in a worker's hand. */
  take(id: string): WorkflowQuery | undefined {
    const waiter = this.#waiters.get(id);
    if (waiter?.place.kind !== 'offered') return undefined;
    waiter.place = { kind: 'sent' };
    return waiter.query;
  }

  /** Back to waiting for a workflow task, which has become pending meanwhile. */
  putBack(id: string): void {
    const waiter = this.#waiters.get(id);
    if (waiter?.place.kind === 'offered') waiter.place = { kind: 'waiting' };
  }

  stillOffered(id: string): boolean {
    return this.#waiters.get(id)?.place.kind === 'offered';
  }
}
