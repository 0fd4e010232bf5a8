/**
 * GetWorkflowExecutionHistory: pages, long polls for what comes next, and "only the close event".
 *
 * Invariants
 *  1. The first page pins the run; all later pages are of that run, and of the branch that it had then.
 *  2. Without `waitNewEvent` the pages end with the event that was the last when the first page was read.
 *  3. A long poll that saw nothing new is answered with an empty page and a token to go on with, never an error.
 */
import { startDeadline } from '../../kernel/deadline.ts';
import { HistoryEventFilterType, WorkflowExecutionStatus } from '../../wire/enums.ts';
import { getHistoryResponse } from '../../wire/poll-response.ts';
import type { Request } from '../../wire/services.ts';
import { HISTORY_PAGE_TOKEN, sealToken } from '../../wire/task-token.ts';
import { assertOnBranch, pointAt, type BranchPoint } from '../history/lineage.ts';
import type { RunState } from '../history/state.ts';
import type { RunRef } from '../shard/engine.ts';
import type { AdmittedCall, FrontendParts, Handlers } from './call.ts';
import { readHistoryPage } from './history-page.ts';
import { longPollMs } from './long-poll.ts';
import { hasBytes, open } from './tokens.ts';
import { badRequest, targetOf } from './validate/ids.ts';

type HistoryRequest = Request<'GetWorkflowExecutionHistory'>;

/** Where a sequence of pages stands. */
type Position = {
  readonly run: RunRef;
  readonly nextEventId: number;
  /** Undefined while it follows an open run. */
  readonly lastEventId: number | undefined;
  /** The branch, by its last event, or by the one before the next where it follows; undefined: not bound to one yet. */
  readonly branch: BranchPoint | undefined;
  readonly tail: Uint8Array;
  /** As read on the way to here; undefined if nothing had to be read. */
  readonly state?: RunState | undefined;
};

const NONE = new Uint8Array(0);
/** No event has this id: only the end of the run is waited for. */
const CLOSED_ONLY = Number.MAX_SAFE_INTEGER;

export function getHistoryHandlers(parts: FrontendParts): Handlers {
  return {
    async GetWorkflowExecutionHistory(request, call) {
      if ((request.maximumPageSize ?? 0) < 0) throw badRequest('MaximumPageSize is negative.');
      const position = await positionOf(parts, request, call);
      if (request.historyEventFilterType === HistoryEventFilterType.CloseEvent) {
        return closeEvent(parts, { position, wait: request.waitNewEvent ?? false }, call);
      }
      if (request.waitNewEvent) return nextEvents(parts, { position, request }, call);
      return page(parts, { position, request, follow: false }, call);
    },
  };
}

/** From the token, or from the request's execution: then the run is read, which also says whether it is there. */
async function positionOf(
  parts: FrontendParts,
  request: HistoryRequest,
  call: AdmittedCall,
): Promise<Position> {
  const target = targetOf(call.namespaceId, request.execution);
  if (!hasBytes(request.nextPageToken)) {
    const { state } = await parts.engine.read(target, call);
    const lastEventId = request.waitNewEvent ? undefined : state.nextEventId - 1;
    const branch = lastEventId === undefined ? undefined : pointAt(state.lineage, lastEventId);
    return { run: refOf(state), nextEventId: 1, lastEventId, branch, tail: NONE, state };
  }
  const token = open(parts, HISTORY_PAGE_TOKEN, { bytes: request.nextPageToken, call });
  const sameRun = target.runId === undefined || target.runId === token.runId;
  if (token.workflowId !== target.workflowId || !sameRun) {
    throw badRequest('NextPageToken belongs to another execution than the request names.');
  }
  const { namespaceId, workflowId, runId, nextEventId, lastEventId, epoch, tail = NONE } = token;
  const branch =
    epoch === undefined ? undefined : { eventId: lastEventId ?? nextEventId - 1, epoch };
  return { run: { namespaceId, workflowId, runId }, nextEventId, lastEventId, branch, tail };
}

type PageOptions = {
  readonly position: Position;
  readonly request: HistoryRequest;
  /** After the last stored event the pages go on with what comes next. */
  readonly follow: boolean;
};

async function page(parts: FrontendParts, options: PageOptions, call: AdmittedCall) {
  const { position, request, follow } = options;
  const { run, nextEventId: fromEventId, tail } = position;
  const { lastEventId, branch } = await endOf(parts, position, call);
  const maxEvents = request.maximumPageSize ?? 0;
  const found = await readHistoryPage(
    parts,
    { run, fromEventId, lastEventId, branch, maxEvents, tail },
    call,
  );
  const nextPageToken = follow
    ? followToken(parts, run, { nextEventId: found.nextEventId, epoch: found.epoch })
    : found.nextPageToken;
  return getHistoryResponse({ nextPageToken }, found.chunks);
}

/** The last event of the pages, and the branch that has it. */
async function endOf(parts: FrontendParts, position: Position, call: AdmittedCall) {
  const { lastEventId: known, branch, run } = position;
  if (known !== undefined) return { lastEventId: known, branch };
  const state = position.state ?? (await parts.engine.read(run, call)).state;
  assertOnBranch(state, branch);
  const lastEventId = state.nextEventId - 1;
  return { lastEventId, branch: pointAt(state.lineage, lastEventId) };
}

/** Answers once there are events from the position on, or the run is closed, or the wait is over. */
async function nextEvents(
  parts: FrontendParts,
  options: { readonly position: Position; readonly request: HistoryRequest },
  call: AdmittedCall,
) {
  const { position, request } = options;
  const { run, nextEventId, branch } = position;
  const state = await waitUntil(parts, { run, state: position.state }, call, nextEventId);
  if (state === undefined) {
    const stay = { nextEventId, epoch: branch?.epoch };
    return getHistoryResponse({ nextPageToken: followToken(parts, run, stay) }, []);
  }
  // Its end is that of the state, which goes on from what was handed out.
  const at = { ...position, lastEventId: undefined, state, tail: NONE };
  return page(parts, { position: at, request, follow: isOpen(state) }, call);
}

/** The last event of a closed run; of an open one nothing, or a token to wait on with. */
async function closeEvent(
  parts: FrontendParts,
  options: { readonly position: Position; readonly wait: boolean },
  call: AdmittedCall,
) {
  const { position, wait } = options;
  const { run } = position;
  const first = position.state ?? (await parts.engine.read(run, call)).state;
  const state = wait ? await waitUntil(parts, { run, state: first }, call, CLOSED_ONLY) : first;
  if (state === undefined) {
    return getHistoryResponse({ nextPageToken: followToken(parts, run, { nextEventId: 1 }) }, []);
  }
  if (isOpen(state)) return getHistoryResponse({}, []);
  const last = state.nextEventId - 1;
  const maxBytes = parts.config.historyPageBytes;
  const range = {
    fromEventId: last,
    toEventId: last,
    maxBytes,
    branch: pointAt(state.lineage, last),
  };
  const { chunks } = await parts.engine.history(run, range, call);
  return getHistoryResponse({}, chunks);
}

/** The run's state once it has that event or is closed; undefined when the wait is over first. */
async function waitUntil(
  parts: FrontendParts,
  from: { readonly run: RunRef; readonly state: RunState | undefined },
  call: AdmittedCall,
  eventId: number,
): Promise<RunState | undefined> {
  const { engine, config } = parts;
  const deadline = startDeadline(parts.clock, {
    what: 'waiting for history events',
    timeoutMs: longPollMs(config, config.historyWaitMs, call),
    parent: call.signal,
  });
  const waiting = { ...call, signal: deadline.signal };
  try {
    let state = from.state ?? (await engine.read(from.run, call)).state;
    while (isOpen(state) && state.nextEventId <= eventId) {
      // What is not answered needs no read, which is a look at the store: so not at each event of a long run.
      await engine.waitForEvents(from.run, eventId - 1, waiting);
      state = (await engine.read(from.run, waiting)).state;
    }
    return state;
  } catch (thrown) {
    if (deadline.signal.aborted) return undefined;
    throw thrown;
  } finally {
    deadline.done();
  }
}

/** `epoch`: of the event before the next. */
function followToken(
  parts: FrontendParts,
  run: RunRef,
  at: { readonly nextEventId: number; readonly epoch?: number | undefined },
): Uint8Array {
  return sealToken(parts.tokens, HISTORY_PAGE_TOKEN, { ...run, ...at });
}

function refOf({ namespaceId, workflowId, runId }: RunState): RunRef {
  return { namespaceId, workflowId, runId };
}

function isOpen(state: RunState): boolean {
  const { Running, Paused } = WorkflowExecutionStatus;
  return state.status === Running || state.status === Paused;
}
