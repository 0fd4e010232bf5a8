/** The filters of ListOpen- and ListClosedWorkflowExecutions, from before there was a query text, as a filter tree. */
import type { Request } from '../../wire/services.ts';
import { timestampMs } from '../../wire/time.ts';
import type { Attribute, Comparison, Filter, Value } from '../visibility/filter/filter.ts';

type ClosedRequest = Request<'ListClosedWorkflowExecutions'>;
/** What both have; `statusFilter` only comes with closed ones. */
export type OlderListRequest = {
  readonly [
    K in
      | 'maximumPageSize'
      | 'nextPageToken'
      | 'startTimeFilter'
      | 'executionFilter'
      | 'typeFilter'
      | 'statusFilter'
  ]?: ClosedRequest[K];
};

export function olderFilter(kind: 'open' | 'closed', request: OlderListRequest): Filter {
  const { startTimeFilter: time, executionFilter, typeFilter, statusFilter } = request;
  const isNull = { kind: 'is-null', attribute: 'CloseTime', negated: kind === 'closed' } as const;
  const { earliestTime, latestTime } = time ?? {};
  return [
    earliestTime && is('StartTime', '>=', timestampMs(earliestTime)),
    latestTime && is('StartTime', '<=', timestampMs(latestTime)),
    executionFilter?.workflowId && is('WorkflowId', '=', executionFilter.workflowId),
    executionFilter?.runId && is('RunId', '=', executionFilter.runId),
    typeFilter?.name && is('WorkflowType', '=', typeFilter.name),
    statusFilter?.status && is('ExecutionStatus', '=', statusFilter.status),
  ].reduce<Filter>((left, right) => (right ? { kind: 'and', left, right } : left), isNull);
}

function is(attribute: Attribute, operator: Comparison, value: Value): Filter {
  return { kind: 'compare', attribute, operator, value };
}
