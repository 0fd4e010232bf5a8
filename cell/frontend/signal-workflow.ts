/** SignalWorkflowExecution. */
import type { FrontendParts, Handlers } from './call.ts';
import { optionalId, requiredId, targetOf } from './validate/ids.ts';
import { checkSizes } from './validate/payloads.ts';

export function signalWorkflowHandlers(parts: FrontendParts): Handlers {
  return {
    async SignalWorkflowExecution(request, call) {
      const target = targetOf(call.namespaceId, request.workflowExecution);
      const name = requiredId('SignalName', request.signalName);
      checkSizes(parts, 'SignalWorkflowExecution', {
        input: request.input,
        header: request.header,
      });
      const signal = {
        kind: 'signal' as const,
        requestId: optionalId('RequestId', request.requestId),
        name,
        input: request.input,
        header: request.header,
        identity: optionalId('Identity', request.identity),
        links: request.links,
      };
      await parts.engine.execute(target, signal, call);
      return {};
    },
  };
}
