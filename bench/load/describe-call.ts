/**
 * The call that shows what a router costs: a cell answers it from memory, so little else is measured with it.
 */
import { TaskQueueType } from '../../wire/enums.ts';
import { methodOf, workflowPath } from '../../wire/services.ts';
import { framed } from './channel.ts';

/** About what a start with a small input weighs. */
const REQUEST_BYTES = 1024;
/** Field 1000 with a length before it: known to no release, so it is weight and nothing else. */
const PADDING_TAG = Buffer.from([0xc2, 0x3e]);
const LENGTH_BYTES = 2;

/** A framed DescribeTaskQueue of `REQUEST_BYTES`. */
export function describeCall(namespace: string, taskQueue: string): Buffer {
  const message = methodOf(workflowPath('DescribeTaskQueue')).request.encode({
    namespace,
    taskQueue: { name: taskQueue },
    taskQueueType: TaskQueueType.Workflow,
  });
  const room = REQUEST_BYTES - message.length - PADDING_TAG.length - LENGTH_BYTES;
  const length = Math.max(128, room);
  const header = Buffer.from([...PADDING_TAG, (length & 127) | 128, length >> 7]);
  return framed(Buffer.concat([message, header, Buffer.alloc(length)]));
}
