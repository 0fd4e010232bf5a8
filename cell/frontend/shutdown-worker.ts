/**
 * ShutdownWorker: a worker says goodbye. Its sticky queue is dissolved, and the tasks that waited there go to where
 * other workers find them, without an event (BEHAVIOURS 5).
 */
import { toAtollError } from '../../kernel/errors.ts';
import type { OfferedTask } from '../matching/matching.ts';
import type { AdmittedCall, FrontendParts, Handlers } from './call.ts';
import { optionalId } from './validate/ids.ts';

export function shutdownWorkerHandlers(parts: FrontendParts): Handlers {
  return {
    async ShutdownWorker(request, call) {
      const name = optionalId('StickyTaskQueue', request.stickyTaskQueue);
      if (name === '') return {};
      const queue = { namespaceId: call.namespaceId, kind: 'workflow' as const, name };
      const orphans = parts.matching.forget(queue);
      await Promise.all(orphans.map((task) => rehome(parts, task, call)));
      return {};
    },
  };
}

async function rehome(parts: FrontendParts, task: OfferedTask, call: AdmittedCall): Promise<void> {
  const { queue, workflowId, runId } = task;
  const target = { namespaceId: queue.namespaceId, workflowId, runId };
  try {
    if (task.kind === 'workflow-task') {
      await parts.engine.execute(target, { kind: 'sticky-gone' }, call);
      return;
    }
    const { state } = await parts.engine.read(target, call);
    parts.matching.giveBack({ ...task, queue: { ...queue, name: state.start.taskQueue } });
  } catch (thrown) {
    // Its schedule-to-start timeout on the sticky queue will move it.
    const { code, message } = toAtollError(thrown);
    parts.log.info({ code, message, workflowId }, 'A task of a sticky queue was not moved.');
  }
}
