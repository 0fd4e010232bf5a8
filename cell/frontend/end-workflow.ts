/** RequestCancelWorkflowExecution and TerminateWorkflowExecution, pinned to a chain where the caller names its first run. */
import { AtollError } from '../../kernel/errors.ts';
import type { RunInput } from '../history/input.ts';
import type { Target } from '../shard/engine.ts';
import type { AdmittedCall, FrontendParts, Handlers } from './call.ts';
import { optionalId, optionalRunId, targetOf } from './validate/ids.ts';
import { checkSizes } from './validate/payloads.ts';

/** How often a chain may go on to its next run between our look and our request. */
const MAX_LOOKS = 3;

export function endWorkflowHandlers(parts: FrontendParts): Handlers {
  return {
    async RequestCancelWorkflowExecution(request, call) {
      const target = targetOf(call.namespaceId, request.workflowExecution);
      const input: RunInput = {
        kind: 'request-cancel',
        requestId: optionalId('RequestId', request.requestId),
        reason: request.reason ?? '',
        identity: optionalId('Identity', request.identity),
      };
      checkSizes(parts, 'RequestCancelWorkflowExecution', { reason: { text: input.reason } });
      await executeInChain(parts, { target, firstRunId: request.firstExecutionRunId, input }, call);
      return {};
    },

    async TerminateWorkflowExecution(request, call) {
      const target = targetOf(call.namespaceId, request.workflowExecution);
      const input: RunInput = {
        kind: 'terminate',
        reason: request.reason ?? '',
        identity: optionalId('Identity', request.identity),
        details: request.details,
      };
      const sized = { reason: { text: input.reason }, details: input.details };
      checkSizes(parts, 'TerminateWorkflowExecution', sized);
      await executeInChain(parts, { target, firstRunId: request.firstExecutionRunId, input }, call);
      return {};
    },
  };
}

type ChainRequest = {
  readonly target: Target;
  readonly firstRunId: string | undefined;
  readonly input: RunInput;
};

/** Asks the run only if it belongs to the chain that began with `firstRunId` (any chain when that is not set). */
async function executeInChain(
  parts: FrontendParts,
  asked: ChainRequest,
  call: AdmittedCall,
): Promise<void> {
  const firstRunId = optionalRunId('FirstExecutionRunId', asked.firstRunId);
  if (firstRunId === undefined) {
    await parts.engine.execute(asked.target, asked.input, call);
    return;
  }
  for (let look = 1; ; look++) {
    const { state } = await parts.engine.read(asked.target, call);
    if (state.start.firstRunId !== firstRunId)
      throw otherChain(asked.target.workflowId, firstRunId);
    try {
      await parts.engine.execute({ ...asked.target, runId: state.runId }, asked.input, call);
      return;
    } catch (thrown) {
      // The run closed since we looked: if its chain went on, the request means the next run.
      const isClosed = thrown instanceof AtollError && thrown.code === 'not-found';
      if (!isClosed || asked.target.runId !== undefined || look === MAX_LOOKS) throw thrown;
      const now = await parts.engine.read(asked.target, call);
      if (now.state.runId === state.runId) throw thrown;
    }
  }
}

function otherChain(workflowId: string, firstRunId: string): AtollError {
  return new AtollError(
    'not-found',
    `Workflow ${workflowId} has no run of the chain that began with run ${firstRunId}.`,
  );
}
