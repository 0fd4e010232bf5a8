/** List, scan and count of workflows by a filter, and the older lists by open and closed (BEHAVIOURS 22). */
import { LIST_PAGE_TOKEN, sealToken } from '../../wire/task-token.ts';
import { optionalTimestamp, toDuration, toTimestamp } from '../../wire/time.ts';
import type { Request, Response } from '../../wire/services.ts';
import type { Memo, SearchAttributes } from '../../wire/plain.ts';
import { WorkflowExecutionStatus } from '../../wire/enums.ts';
import type { IndexRow } from '../history/work.ts';
import type { Filter } from '../visibility/filter/filter.ts';
import { parseQuery } from '../visibility/filter/parse.ts';
import type { ListPosition } from '../visibility/visibility.ts';
import type { AdmittedCall, FrontendParts, Handlers } from './call.ts';
import { olderFilter, type OlderListRequest } from './older-list-filter.ts';
import { hasBytes, open } from './tokens.ts';
import { badRequest } from './validate/ids.ts';

type List = Response<'ListWorkflowExecutions'>;

/** A list request in any of its forms: `query` tells lists apart, so that a token continues its own list only. */
type ListAsked = {
  readonly filter: Filter | undefined;
  readonly query: string;
  readonly pageSize: number | undefined;
  readonly nextPageToken: Uint8Array | undefined;
};

export function listWorkflowsHandlers(parts: FrontendParts): Handlers {
  const byQuery = (
    { query = '', pageSize, nextPageToken }: Request<'ListWorkflowExecutions'>,
    call: AdmittedCall,
  ) => {
    const { filter, groupByStatus } = parseQuery(query);
    if (groupByStatus) throw badRequest('GROUP BY is for CountWorkflowExecutions only.');
    return list(parts, { filter, query, pageSize, nextPageToken }, call);
  };
  const byFields = (kind: 'open' | 'closed', request: OlderListRequest, call: AdmittedCall) => {
    const filter = olderFilter(kind, request);
    const asked = {
      filter,
      query: `${kind}:${JSON.stringify(filter)}`,
      pageSize: request.maximumPageSize,
      nextPageToken: request.nextPageToken,
    };
    return list(parts, asked, call);
  };
  return {
    ListWorkflowExecutions: byQuery,
    ScanWorkflowExecutions: byQuery,
    ListOpenWorkflowExecutions: (request, call) => byFields('open', request, call),
    ListClosedWorkflowExecutions: (request, call) => byFields('closed', request, call),
    CountWorkflowExecutions: ({ query = '' }, call) => count(parts, query, call),
  };
}

async function list(parts: FrontendParts, asked: ListAsked, call: AdmittedCall): Promise<List> {
  const { namespaceId } = call;
  const { filter, query } = asked;
  const largest = parts.config.maxListPageSize;
  if ((asked.pageSize ?? 0) < 0) throw badRequest('PageSize is negative.');
  const pageSize = Math.min(asked.pageSize || largest, largest);
  const after = positionOf(parts, asked, call);
  const page = await parts.visibility.list({ namespaceId, filter, pageSize, after }, call.signal);
  const executions = page.rows.map(executionInfo);
  if (page.next === undefined) return { executions };
  const next = { namespaceId, query, after: [page.next.startedAt, page.next.runId] };
  return { executions, nextPageToken: sealToken(parts.tokens, LIST_PAGE_TOKEN, next) };
}

function positionOf(
  parts: FrontendParts,
  { nextPageToken, query }: ListAsked,
  call: AdmittedCall,
): ListPosition | undefined {
  if (!hasBytes(nextPageToken)) return undefined;
  const token = open(parts, LIST_PAGE_TOKEN, { bytes: nextPageToken, call });
  if (token.query !== query)
    throw badRequest('NextPageToken continues a list with another filter.');
  const [startedAt, runId] = token.after;
  return { startedAt: Number(startedAt), runId: String(runId) };
}

async function count(
  parts: FrontendParts,
  query: string,
  call: AdmittedCall,
): Promise<Response<'CountWorkflowExecutions'>> {
  const { filter, groupByStatus } = parseQuery(query);
  const asked = { namespaceId: call.namespaceId, filter };
  if (!groupByStatus) return { count: await parts.visibility.count(asked, call.signal) };
  const byStatus = await parts.visibility.countByStatus(asked, call.signal);
  const groups = [...byStatus].map(([status, number]) => ({
    groupValues: [statusPayload(status)],
    count: number,
  }));
  return { count: groups.reduce((sum, group) => sum + group.count, 0), groups };
}

/** The status' name as a payload: what tools of the contract expect of a group. */
function statusPayload(status: number) {
  const name = Object.entries(WorkflowExecutionStatus).find(([, number]) => number === status);
  const text = new TextEncoder();
  return {
    metadata: { encoding: text.encode('json/plain'), type: text.encode('Keyword') },
    data: text.encode(JSON.stringify(name?.[0] ?? String(status))),
  };
}

function executionInfo(row: IndexRow): NonNullable<List['executions']>[number] {
  const { workflowId, runId, closedAt, executionAt } = row;
  return {
    execution: { workflowId, runId },
    type: { name: row.workflowType },
    startTime: toTimestamp(row.startedAt),
    executionTime: toTimestamp(executionAt),
    closeTime: optionalTimestamp(closedAt),
    executionDuration: closedAt === undefined ? undefined : toDuration(closedAt - executionAt),
    status: row.status as WorkflowExecutionStatus,
    historyLength: closedAt === undefined ? undefined : row.historyLength,
    historySizeBytes: closedAt === undefined ? undefined : row.historyBytes,
    taskQueue: row.taskQueue,
    memo: row.memo as Memo | undefined,
    searchAttributes: row.searchAttributes as SearchAttributes | undefined,
    firstRunId: row.firstRunId,
    rootExecution: { workflowId, runId: row.firstRunId },
  };
}
