/** Reads every run of the client's log from the engine, through the official client. */
import { Client, Connection, isGrpcServiceError } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { NAMESPACE } from './ground.ts';
import type { ReadRun } from './judge.ts';
import type { Acknowledged } from './load.ts';

const READING = 8;
/** The gRPC code: fetching a history says it plainly. */
const NOT_FOUND = 5;

/** Each acknowledged run once. A run that the engine does not know has no tokens; any other failure ends the reading. */
export async function readRuns(
  { address }: { readonly address: string },
  log: readonly Acknowledged[],
): Promise<readonly ReadRun[]> {
  const connection = await Connection.connect({ address });
  try {
    const client = new Client({ connection, namespace: NAMESPACE });
    const starts = log.filter(({ what }) => what === 'start').values();
    const read: ReadRun[] = [];
    const lane = async () => {
      for (const { workflowId, runId } of starts) {
        read.push({ runId, tokens: await tokensOf(client, workflowId, runId) });
      }
    };
    await Promise.all(Array.from({ length: READING }, lane));
    return read;
  } finally {
    await connection.close();
  }
}

async function tokensOf(
  client: Client,
  workflowId: string,
  runId: string,
): Promise<readonly string[] | undefined> {
  try {
    const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    return (events ?? []).flatMap(({ workflowExecutionSignaledEventAttributes: signalled }) => {
      const [payload] = signalled?.input?.payloads ?? [];
      return payload ? [String(defaultPayloadConverter.fromPayload(payload))] : [];
    });
  } catch (error) {
    if (isGrpcServiceError(error) && Number(error.code) === NOT_FOUND) return undefined;
    throw error;
  }
}
