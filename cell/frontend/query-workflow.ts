/** QueryWorkflow and the direct answers of workers to it, RespondQueryTaskCompleted (BEHAVIOURS 19). */
import { startDeadline } from '../../kernel/deadline.ts';
import { QueryResultType } from '../../wire/enums.ts';
import { queryFailed } from '../../wire/failures.ts';
import { PAYLOAD_LIMIT_BYTES } from '../../wire/payload-limits.ts';
import type { Failure, Payloads } from '../../wire/plain.ts';
import { QUERY_TASK_TOKEN } from '../../wire/task-token.ts';
import type { QueryAnswer, QueryOutcome } from '../shard/engine.ts';
import type { FrontendParts, Handlers } from './call.ts';
import { open } from './tokens.ts';
import { badRequest, requiredId, targetOf } from './validate/ids.ts';
import { checkSizes, isTooLarge } from './validate/payloads.ts';

export function queryWorkflowHandlers(parts: FrontendParts): Handlers {
  return {
    async QueryWorkflow(request, call) {
      const target = targetOf(call.namespaceId, request.execution);
      if (request.query === undefined) throw badRequest('Query is not set on request.');
      const query = {
        queryType: requiredId('QueryType', request.query.queryType),
        args: request.query.queryArgs,
        header: request.query.header,
        rejectCondition: request.queryRejectCondition ?? 0,
      };
      checkSizes(parts, 'QueryWorkflow', { queryArgs: query.args, header: query.header });
      const deadline = startDeadline(parts.clock, {
        what: `The query ${query.queryType} of workflow ${target.workflowId}: is a worker polling its task queue? It`,
        timeoutMs: Math.min(parts.config.queryMs, call.deadlineMs ?? Infinity),
        parent: call.signal,
      });
      try {
        const outcome = await parts.engine.query(target, query, {
          ...call,
          signal: deadline.signal,
        });
        return queryResponse(outcome);
      } finally {
        deadline.done();
      }
    },

    async RespondQueryTaskCompleted(request, call) {
      const token = open(parts, QUERY_TASK_TOKEN, { bytes: request.taskToken, call });
      const answer = toAnswer({
        resultType: request.completedType,
        answer: request.queryResult,
        errorMessage: request.errorMessage,
        failure: request.failure,
      });
      parts.engine.answerQuery(token, token.queryId, answer);
      return {};
    },
  };
}

function queryResponse(outcome: QueryOutcome) {
  switch (outcome.kind) {
    case 'answered':
      return { queryResult: outcome.result };
    case 'rejected':
      return { queryRejected: { status: outcome.status } };
    case 'failed':
      throw queryFailed(outcome.message || 'The query failed.', outcome.failure);
  }
}

type WorkerAnswer = {
  readonly resultType?: number | undefined;
  readonly answer?: Payloads | undefined;
  readonly errorMessage?: string | undefined;
  readonly failure?: Failure | undefined;
};

/** What a worker says to a query, as the engine takes it. */
export function toAnswer(given: WorkerAnswer): QueryAnswer {
  const { resultType, answer, errorMessage, failure } = given;
  if (resultType !== QueryResultType.Answered) {
    return { kind: 'failed', message: errorMessage ?? '', failure };
  }
  if (!isTooLarge(answer)) return { kind: 'answered', result: answer };
  const message = `The answer of the query is larger than ${PAYLOAD_LIMIT_BYTES} bytes.`;
  return { kind: 'failed', message };
}
