/** ResetStickyTaskQueue: the run forgets its sticky worker; its next task goes to the normal queue, without an event. */
import type { FrontendParts, Handlers } from './call.ts';
import { targetOf } from './validate/ids.ts';

export function resetStickyHandlers({ engine }: FrontendParts): Handlers {
  return {
    async ResetStickyTaskQueue(request, call) {
      const target = targetOf(call.namespaceId, request.execution);
      await engine.execute(target, { kind: 'sticky-gone' }, call);
      return {};
    },
  };
}
