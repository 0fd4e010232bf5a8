/**
 * What gathers behind an append in flight (D2): decided steps in batches, each batch one future row of the log.
 *
 * Invariants
 *  1. Steps leave in the order in which they were decided; those of one decision share a batch (atomic).
 *  2. Within a batch a workflow id has steps, one adoption or one removal, never two of them: in a record their order is
 *     lost.
 *  3. A batch is settled once: committed, or abandoned with an error that its callers see.
 */
import type { AtollError } from '../../../kernel/errors.ts';
import type { Mark } from '../mark.ts';
import type { Adoption, EncodedStep, Removal } from './record-codec.ts';

/** What is decided together, and becomes durable together. */
export type Decided = {
  readonly steps?: readonly EncodedStep[];
  readonly mark?: Mark;
  readonly adoption?: Adoption;
  readonly removal?: Removal;
};

export class Batch {
  readonly steps: EncodedStep[] = [];
  readonly marks: Mark[] = [];
  readonly adoptions: Adoption[] = [];
  readonly removals: Removal[] = [];
  /** Workflow ids of which a run is adopted or removed. */
  readonly replaced = new Set<string>();
  bytes = 0;
  /** Resolves when the batch is durable; rejects when it will not be, or nobody knows. */
  readonly committed: Promise<void>;
  #resolve: () => void = () => {};
  #reject: (error: AtollError) => void = () => {};

  constructor() {
    this.committed = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Callers that went away must not turn a rejection into an unhandled one.
    this.committed.catch(() => {});
  }

  /** Whether this may be in it as well. */
  takes({ steps = [], adoption, removal }: Decided): boolean {
    const other = adoption?.state.workflowId ?? removal?.workflowId;
    if (other !== undefined && this.#has(other)) return false;
    return (
      this.replaced.size === 0 ||
      !steps.some(({ transition }) => this.replaced.has(transition.workflowId))
    );
  }

  #has(workflowId: string): boolean {
    if (this.replaced.has(workflowId)) return true;
    return this.steps.some(({ transition }) => transition.workflowId === workflowId);
  }

  commit(): void {
    this.#resolve();
  }

  abandon(error: AtollError): void {
    this.#reject(error);
  }
}

export class Gather {
  readonly #limit: number;
  readonly #rowBytes: number;
  #batches: Batch[] = [];
  #steps = 0;

  /** @param limit steps that may gather; @param rowBytes a batch that reached this size takes no more */
  constructor(limit: number, rowBytes: number) {
    this.#limit = limit;
    this.#rowBytes = rowBytes;
  }

  get size(): number {
    return this.#steps;
  }

  get full(): boolean {
    return this.#steps >= this.#limit;
  }

  /** The batch that will be appended next; its commit is a proof of ownership for whoever came before (PROTOCOLS 4). */
  get next(): Batch | undefined {
    return this.#batches[0];
  }

  /** The batch that will be appended last. */
  get last(): Batch | undefined {
    return this.#batches.at(-1);
  }

  /** Adds what was decided together and returns the batch that it travels in. */
  add(decided: Decided): Batch {
    const { steps = [], mark, adoption, removal } = decided;
    let batch = this.#batches.at(-1);
    if (!batch || batch.bytes >= this.#rowBytes || !batch.takes(decided)) {
      batch = new Batch();
      this.#batches.push(batch);
    }
    for (const step of steps) {
      batch.steps.push(step);
      batch.bytes += step.events.length + 256;
    }
    if (mark) batch.marks.push(mark);
    if (removal) {
      batch.removals.push(removal);
      batch.replaced.add(removal.workflowId);
    }
    if (adoption) {
      batch.replaced.add(adoption.state.workflowId);
      batch.adoptions.push(adoption);
      batch.bytes += adoption.events.length + 1_024;
    }
    this.#steps += steps.length;
    return batch;
  }

  take(): Batch | undefined {
    const batch = this.#batches.shift();
    if (batch) this.#steps -= batch.steps.length;
    return batch;
  }

  abandon(error: AtollError): void {
    for (const batch of this.#batches) batch.abandon(error);
    this.#batches = [];
    this.#steps = 0;
  }
}
