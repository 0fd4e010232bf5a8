/**
 * Reads from the engine, through the official client, what became of every acknowledged run: the judge's last witness.
 *
 * Invariants
 *  1. A run that the engine does not know is left out, so that the judge misses it; any other failure ends the reading.
 */
import { Client, Connection, isGrpcServiceError } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import temporal from '@temporalio/proto';
import type { ClientLine, RunRead } from './check.ts';

const READING = 8;
const NOT_FOUND = 5;

type History = Awaited<ReturnType<ReturnType<Client['workflow']['getHandle']>['fetchHistory']>>;

/** Reads the history of each run whose start was acknowledged. */
export async function readEnds(
  address: string,
  namespace: string,
  lines: readonly ClientLine[],
): Promise<readonly RunRead[]> {
  const connection = await Connection.connect({ address, connectTimeout: '30 seconds' });
  try {
    const client = new Client({ connection, namespace });
    const starts = lines.filter((line) => line.what === 'start').values();
    const reads: RunRead[] = [];
    const lane = async () => {
      for (const { order, run } of starts) {
        const read = await readRun(client, order, run);
        if (read) reads.push(read);
      }
    };
    await Promise.all(Array.from({ length: READING }, lane));
    return reads;
  } finally {
    await connection.close();
  }
}

async function readRun(client: Client, order: string, run: string): Promise<RunRead | undefined> {
  try {
    return asRead(order, run, await client.workflow.getHandle(order, run).fetchHistory());
  } catch (error) {
    // The client leaves the errors of a history as they come.
    if (isGrpcServiceError(error) && (error.code as number) === NOT_FOUND) return undefined;
    throw error;
  }
}

function asRead(order: string, run: string, { events }: History): RunRead {
  const list = events ?? [];
  const completed = list.at(-1)?.workflowExecutionCompletedEventAttributes;
  const payload = completed?.result?.payloads?.[0];
  const result = payload
    ? defaultPayloadConverter.fromPayload<{ readonly state?: string }>(payload)
    : undefined;
  return {
    order,
    run,
    events: list.map((event) => ({ id: Number(event.eventId), type: typeName(event.eventType) })),
    signals: list.flatMap(({ workflowExecutionSignaledEventAttributes: signalled }) => {
      const [input] = signalled?.input?.payloads ?? [];
      return input ? [String(defaultPayloadConverter.fromPayload(input))] : [];
    }),
    ...(result?.state ? { state: result.state } : {}),
  };
}

function typeName(type: number | string | null | undefined): string {
  const names: Readonly<Record<number, string>> = temporal.temporal.api.enums.v1.EventType;
  const name = typeof type === 'number' ? names[type] : type;
  return (name ?? 'unknown').replace(/^EVENT_TYPE_/, '');
}
