/**
 * Requests of WorkflowService as framed bytes, and answers decoded where a load tool needs one whole.
 *
 * Place: between the contract's codecs (wire/) and the channel.
 */
import { methodOf, workflowPath, type Request, type Response } from '../../wire/services.ts';
import { framed } from './channel.ts';

/** The RPCs that the bench calls. */
export type BenchRpc =
  | 'RegisterNamespace'
  | 'StartWorkflowExecution'
  | 'SignalWorkflowExecution'
  | 'GetWorkflowExecutionHistory'
  | 'DescribeTaskQueue'
  | 'PollWorkflowTaskQueue'
  | 'PollActivityTaskQueue'
  | 'RespondWorkflowTaskCompleted'
  | 'RespondActivityTaskCompleted';

/** The `:path` of an RPC. */
export function pathOf(rpc: BenchRpc): string {
  return workflowPath(rpc);
}

/** A framed request. */
export function requestOf<M extends BenchRpc>(rpc: M, fields: Request<M>): Buffer {
  return framed(methodOf(workflowPath(rpc)).request.encode(fields));
}

/** The answer of an RPC as plain data. */
export function responseOf<M extends BenchRpc>(rpc: M, message: Buffer): Response<M> {
  return methodOf(workflowPath(rpc)).response.decode(message) as Response<M>;
}
