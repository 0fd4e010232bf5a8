/**
 * One page of a history, as stored bytes and the token that goes on: shared by the history RPC and by workflow tasks.
 *
 * Invariants
 *  1. The run and its branch are pinned in the token; a later page never comes from another.
 *  2. `tail` (what a poller sees though history does not hold it) follows the last stored event, once.
 */
import { HISTORY_PAGE_TOKEN, sealToken } from '../../wire/task-token.ts';
import { pointAt, type BranchPoint } from '../history/lineage.ts';
import type { RunRef } from '../shard/engine.ts';
import type { AdmittedCall, FrontendParts } from './call.ts';

export type PageRequest = {
  readonly run: RunRef;
  readonly fromEventId: number;
  /** The sequence of pages ends with this event. */
  readonly lastEventId: number;
  /** At `lastEventId`, where it is known: no page comes from a branch that has not got it. */
  readonly branch: BranchPoint | undefined;
  /** Events in this page at most; 0 = as many as fit by size. */
  readonly maxEvents: number;
  readonly tail: Uint8Array;
};

export type HistoryChunksPage = {
  readonly chunks: readonly Uint8Array[];
  /** Where the next page begins: `lastEventId + 1` after the last one. */
  readonly nextEventId: number;
  /** Of the event before that one. */
  readonly epoch: number | undefined;
  /** Empty after the last page. */
  readonly nextPageToken: Uint8Array;
};

const NONE = new Uint8Array(0);

export async function readHistoryPage(
  parts: Pick<FrontendParts, 'engine' | 'config' | 'tokens'>,
  page: PageRequest,
  call: AdmittedCall,
): Promise<HistoryChunksPage> {
  const { run, fromEventId, lastEventId, branch, maxEvents, tail } = page;
  if (fromEventId > lastEventId) {
    const chunks = nonEmpty([tail]);
    return { chunks, nextEventId: fromEventId, epoch: branch?.epoch, nextPageToken: NONE };
  }
  const toEventId =
    maxEvents > 0 ? Math.min(lastEventId, fromEventId + maxEvents - 1) : lastEventId;
  const range = { fromEventId, toEventId, maxBytes: parts.config.historyPageBytes, branch };
  const stored = await parts.engine.history(run, range, call);
  const nextEventId = stored.toEventId + 1;
  const epoch = pointAt(stored.lineage, nextEventId - 1)?.epoch;
  if (nextEventId > lastEventId) {
    const chunks = nonEmpty([...stored.chunks, tail]);
    return { chunks, nextEventId, epoch, nextPageToken: NONE };
  }
  const end = { lastEventId, epoch: branch?.epoch };
  const token = { ...run, nextEventId, ...end, ...(tail.length > 0 && { tail }) };
  return {
    chunks: stored.chunks,
    nextEventId,
    epoch,
    nextPageToken: sealToken(parts.tokens, HISTORY_PAGE_TOKEN, token),
  };
}

function nonEmpty(chunks: readonly Uint8Array[]): readonly Uint8Array[] {
  return chunks.filter((chunk) => chunk.length > 0);
}
