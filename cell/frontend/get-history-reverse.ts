/**
 * GetWorkflowExecutionHistoryReverse: a history from its last event to its first, in pages.
 *
 * Invariants
 *  1. The first page pins the run, its branch and its last event; events that come later are in no page.
 *  2. Stored bytes are cut at the borders of events and put in the other order; none is decoded.
 */
import { scanEvents } from '../../wire/event-scan.ts';
import { getHistoryResponse } from '../../wire/poll-response.ts';
import { HISTORY_PAGE_TOKEN, sealToken } from '../../wire/task-token.ts';
import type { Request } from '../../wire/services.ts';
import { pointAt, type BranchPoint, type Lineage } from '../history/lineage.ts';
import type { RunRef } from '../shard/engine.ts';
import type { AdmittedCall, FrontendParts, Handlers } from './call.ts';
import { hasBytes, open } from './tokens.ts';
import { badRequest, targetOf } from './validate/ids.ts';

/** Where a page begins: it goes down from this event. */
type Position = {
  readonly run: RunRef;
  readonly fromEventId: number;
  readonly branch: BranchPoint | undefined;
};

const DEFAULT_PAGE = 100;
const MAX_PAGE = 1_000;
/** In `lastEventId` of a token: it goes down, and is none of the forward history's. */
const DOWN = 0;

export function getHistoryReverseHandlers(parts: FrontendParts): Handlers {
  return {
    async GetWorkflowExecutionHistoryReverse(request, call) {
      if ((request.maximumPageSize ?? 0) < 0) throw badRequest('MaximumPageSize is negative.');
      const position = await positionOf(parts, request, call);
      const most = Math.min(request.maximumPageSize || DEFAULT_PAGE, MAX_PAGE);
      const page = await lastEvents(parts, { ...position, most }, call);
      const nextEventId = page.firstEventId - 1;
      const epoch = pointAt(page.lineage, nextEventId)?.epoch;
      const token = { ...position.run, nextEventId, lastEventId: DOWN, epoch };
      const nextPageToken =
        nextEventId >= 1 ? sealToken(parts.tokens, HISTORY_PAGE_TOKEN, token) : undefined;
      return getHistoryResponse({ ...(nextPageToken && { nextPageToken }) }, page.entries);
    },
  };
}

async function positionOf(
  parts: FrontendParts,
  request: Request<'GetWorkflowExecutionHistoryReverse'>,
  call: AdmittedCall,
): Promise<Position> {
  const target = targetOf(call.namespaceId, request.execution);
  if (!hasBytes(request.nextPageToken)) {
    const { state } = await parts.engine.read(target, call);
    const { namespaceId, workflowId, runId, nextEventId } = state;
    const last = nextEventId - 1;
    const branch = pointAt(state.lineage, last);
    return { run: { namespaceId, workflowId, runId }, fromEventId: last, branch };
  }
  const token = open(parts, HISTORY_PAGE_TOKEN, { bytes: request.nextPageToken, call });
  const { namespaceId, workflowId, runId, nextEventId, lastEventId, epoch } = token;
  const sameRun = target.runId === undefined || target.runId === runId;
  if (workflowId !== target.workflowId || !sameRun || lastEventId !== DOWN) {
    throw badRequest('NextPageToken belongs to another request than this one.');
  }
  const branch = epoch === undefined ? undefined : { eventId: nextEventId, epoch };
  return { run: { namespaceId, workflowId, runId }, fromEventId: nextEventId, branch };
}

type LastEvents = {
  readonly entries: readonly Uint8Array[];
  readonly firstEventId: number;
  readonly lineage: Lineage;
};

/**
 * The events up to `fromEventId` that fit into one page, last one first. The store bounds a page by bytes from its
 * front; half as many events are asked for until the last one is among them.
 */
async function lastEvents(
  parts: FrontendParts,
  page: Position & { readonly most: number },
  call: AdmittedCall,
): Promise<LastEvents> {
  const { run, fromEventId: toEventId, branch, most } = page;
  for (let count = most; ; count = Math.floor(count / 2)) {
    const firstEventId = Math.max(1, toEventId - Math.max(count, 1) + 1);
    const range = {
      fromEventId: firstEventId,
      toEventId,
      maxBytes: parts.config.historyPageBytes,
      branch,
    };
    const stored = await parts.engine.history(run, range, call);
    if (stored.toEventId < toEventId && count > 1) continue;
    const entries = stored.chunks.flatMap((chunk) =>
      scanEvents(chunk).map(({ start, end }) => chunk.subarray(start, end)),
    );
    return { entries: entries.toReversed(), firstEventId, lineage: stored.lineage };
  }
}
