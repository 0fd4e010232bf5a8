/** What visibility shows of a run (D5): derived from its state, newest transition wins. */
import type { RunState } from './state.ts';
import type { IndexRow } from './work.ts';

export function indexRow(state: RunState): IndexRow {
  const { start } = state;
  return {
    namespaceId: state.namespaceId,
    workflowId: state.workflowId,
    runId: state.runId,
    version: state.transition,
    workflowType: start.workflowType,
    taskQueue: start.taskQueue,
    status: state.status,
    startedAt: start.startedAt,
    executionAt: start.executionAt,
    closedAt: state.closedAt,
    historyLength: state.nextEventId - 1,
    historyBytes: state.historyBytes,
    firstRunId: start.firstRunId,
    memo: state.memo,
    searchAttributes: state.searchAttributes,
  };
}
