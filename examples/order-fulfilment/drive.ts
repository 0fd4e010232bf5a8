/**
 * Drives orders through the engine, as a shop's front end would: starts them, announces their parcels, waits for all.
 *
 * Place: between the input file and the reconciliation; the engine is reached through the client SDK only.
 *
 * Invariants
 *  1. What the engine acknowledged is in the journal, on disk, before the driver builds on it.
 *  2. At most STARTING starts, ANNOUNCING signals and WAITING results are in flight.
 */
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  WorkflowFailedError,
  type Client,
  type WorkflowHandleWithFirstExecutionRunId,
} from '@temporalio/client';
import type { Journal } from './journal.ts';
import {
  impliedEnd,
  parcelOf,
  purchaseOf,
  TASK_QUEUE,
  type Fulfilment,
  type Order,
} from './order.ts';
import { gate, type Gate } from './gate.ts';
import { atOnce, type Pace } from './pace.ts';
import type { Result } from './reconcile.ts';
import type { fulfilOrder as FulfilOrder } from './workflows.ts';

const STARTING = 16;
const ANNOUNCING = 16;
const WAITING = 48;

export type DriveOptions = {
  /** How long a paid order waits for its parcel. */
  readonly shipWithinMs: number;
  /** When orders start; as fast as the engine takes them if absent. */
  readonly pace?: Pace;
  /** Where acknowledgements are kept; none if absent. */
  readonly journal?: Journal;
  /** Called once when half of the orders are started. */
  readonly onHalfway?: () => void;
  readonly signal: AbortSignal;
};

export type Progress = {
  started: number;
  announced: number;
  ended: number;
  readonly total: number;
};

type Handle = WorkflowHandleWithFirstExecutionRunId<typeof FulfilOrder>;
type Running = { readonly order: Order; readonly handle: Handle };

/** One line of the client's journal. */
export type Acknowledged = {
  readonly at: string;
  readonly what: 'start' | 'signal' | 'result';
  readonly order: string;
  readonly run: string;
  /** The parcel of a signal, the end state of a result. */
  readonly value?: string;
};

export class Drive {
  readonly progress: Progress;
  readonly #client: Client;
  readonly #options: DriveOptions;
  readonly #starting: Gate = gate(STARTING);
  readonly #announcing: Gate = gate(ANNOUNCING);
  readonly #waiting: Gate = gate(WAITING);
  readonly #results = new Map<string, Result>();

  constructor(client: Client, total: number, options: DriveOptions) {
    this.#client = client;
    this.#options = options;
    // Every order that waits for its time listens.
    setMaxListeners(0, options.signal);
    this.progress = { started: 0, announced: 0, ended: 0, total };
  }

  /** Starts all orders, announces parcels, waits for every end. Rejects if aborted, or if the engine refuses a call. */
  async run(orders: readonly Order[]): Promise<ReadonlyMap<string, Result>> {
    const { pace = atOnce, signal } = this.#options;
    await Promise.all(
      orders.map(async (order, index) => {
        signal.throwIfAborted();
        await pace(index, signal);
        const running = await this.#starting(() => this.#start(order));
        await Promise.all([this.#announce(running), this.#waiting(() => this.#awaitEnd(running))]);
      }),
    );
    return this.#results;
  }

  async #start(order: Order): Promise<Running> {
    const { shipWithinMs } = this.#options;
    const handle = await this.#client.workflow.start<typeof FulfilOrder>('fulfilOrder', {
      workflowId: order.id,
      taskQueue: TASK_QUEUE,
      args: [purchaseOf(order), { shipWithinMs }],
    });
    await this.#note({ what: 'start', order: order.id, run: handle.firstExecutionRunId });
    this.progress.started += 1;
    const { started, total } = this.progress;
    if (started === Math.ceil(total / 2)) this.#options.onHalfway?.();
    return { order, handle };
  }

  async #announce({ order, handle }: Running): Promise<void> {
    if (impliedEnd(order) !== 'shipped' || order.shipsAfterMs === null) return;
    const { signal } = this.#options;
    await sleep(order.shipsAfterMs, undefined, { signal });
    await this.#announcing(async () => {
      const parcel = parcelOf(order);
      await handle.signal<[string]>('shipped', parcel);
      await this.#note({
        what: 'signal',
        order: order.id,
        run: handle.firstExecutionRunId,
        value: parcel,
      });
      this.progress.announced += 1;
    });
  }

  async #awaitEnd({ order, handle }: Running): Promise<void> {
    this.#options.signal.throwIfAborted();
    const result = await handle.result().then(
      ({ state }: Fulfilment): Result => ({ kind: 'ended', state }),
      (error: unknown): Result => {
        if (!(error instanceof WorkflowFailedError)) throw error;
        return {
          kind: 'failed',
          reason: `the workflow failed: ${error.cause?.message ?? error.message}`,
        };
      },
    );
    const value = result.kind === 'ended' ? result.state : 'failed';
    await this.#note({ what: 'result', order: order.id, run: handle.firstExecutionRunId, value });
    this.#results.set(order.id, result);
    this.progress.ended += 1;
  }

  async #note(line: Omit<Acknowledged, 'at'>): Promise<void> {
    await this.#options.journal?.append({ at: new Date().toISOString(), ...line });
  }
}
