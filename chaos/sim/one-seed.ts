/** What the world of one cell and that of a fleet have in common, from the first client to the verdict. */
import type { SeededRng } from '../../kernel/testing/seeded-rng.ts';
import { fromWireEvent, type WireEvent } from '../../wire/event-codec.ts';
import { callUntilAnswered, type Callers } from './callers.ts';
import { Client, type Order } from './client.ts';
import { readHistory, type ReadHistory } from './evidence.ts';
import { NAMESPACE } from './host.ts';
import type { Journal } from './journal.ts';
import type { Trace } from './trace.ts';
import type { WorldTime } from './world-time.ts';

/** Runs the world. A rejection that nobody handled would end a real process: it counts as a breach. */
export async function blaming<Result>(
  journal: Journal,
  run: () => Promise<Result>,
): Promise<Result> {
  const blame = (error: unknown) => {
    const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
    journal.breaches.push(`a rejection was not handled: ${why}`);
  };
  process.on('unhandledRejection', blame);
  try {
    return await run();
  } finally {
    process.off('unhandledRejection', blame);
  }
}

/** Starts a client for each order. Returns how many have not ended yet. */
export function startClients(
  orders: readonly Order[],
  { callers, rng }: { readonly callers: Callers; readonly rng: SeededRng },
): () => number {
  let waiting = orders.length;
  for (const order of orders) {
    const client = new Client(callers, rng.fork(order.workflowId), order);
    void client.run().then(() => (waiting -= 1));
  }
  return () => waiting;
}

/** Lets the world go on until that is over, or its bounds are; what fails is a breach. */
export async function awaitIn(
  time: WorldTime,
  what: Promise<unknown>,
  {
    journal,
    ...bounds
  }: { readonly journal: Journal; readonly quietMs: number; readonly maxEvents: number },
): Promise<void> {
  let over = false;
  void what.then(
    () => (over = true),
    (error: unknown) => {
      over = true;
      journal.breaches.push(`at the end: ${String(error)}`);
    },
  );
  const untilMs = time.monotonicMs() + bounds.quietMs;
  await time.run(() => over, { untilMs, maxEvents: bounds.maxEvents });
}

/** Reads a run's history through the API; undefined if it is not answered in so many tries. */
export async function readThroughApi(
  callers: Callers,
  { workflowId, runId }: { readonly workflowId: string; readonly runId: string },
  tries: number,
): Promise<ReadHistory | undefined> {
  const request = { namespace: NAMESPACE, execution: { workflowId, runId } };
  const rpc = { name: 'GetWorkflowExecutionHistory', request } as const;
  const outcome = await callUntilAnswered(callers, workflowId, rpc, { tries });
  if (outcome.kind !== 'answered') return undefined;
  const events = (outcome.response.history?.events ?? []).flatMap((event) => {
    const known = fromWireEvent(event as WireEvent);
    return known ? [known] : [];
  });
  return readHistory({ workflowId, runId }, events);
}

/** The last lines of the trace that name what the breach names, or hold one of these words. */
export function excerptOf(
  trace: Trace,
  breach: string | undefined,
  { everywhere, lines }: { readonly everywhere: readonly string[]; readonly lines: number },
): readonly string[] {
  if (breach === undefined) return [];
  const words = breach.match(/order-\d+|shard \d+/g) ?? [];
  return trace.about([...words, ...everywhere], lines);
}
