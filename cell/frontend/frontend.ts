/**
 * The cell's face to clients: every RPC by name, behind one gate (D8, D18).
 *
 * Place: rpc-handler.ts binds it to the wire; the simulator and tests call it as it is. A call goes
 * namespace → authorise → admit (epoch) → handler, which validates, asks engine, matching or visibility, and answers.
 *
 * Invariants
 *  1. No handler runs before its namespace was authorised and admitted; what a handler is given names that namespace.
 *  2. The namespace of the body and that of the metadata are the same, or the call is refused ("Security").
 *  3. Every call ends: long polls by their own bounds, all others by `callMs` (P11).
 */
import { namespaceMessage } from '../../fleet/namespace-message.ts';
import { withDeadline } from '../../kernel/deadline.ts';
import { AtollError } from '../../kernel/errors.ts';
import { namespaceNotFound } from '../../wire/failures.ts';
import type { Request, RpcName } from '../../wire/services.ts';
import { systemInfo } from '../../wire/system-info.ts';
import type { Verb } from './authorise.ts';
import type { Answer, FrontendParts, Handler, Handlers } from './call.ts';
import type { FrontendCall } from './frontend-call.ts';
import { describeTaskQueueHandlers } from './describe-task-queue.ts';
import { describeWorkflowHandlers } from './describe-workflow.ts';
import { endWorkflowHandlers } from './end-workflow.ts';
import { getHistoryHandlers } from './get-history.ts';
import { getHistoryReverseHandlers } from './get-history-reverse.ts';
import { listWorkflowsHandlers } from './list-workflows.ts';
import { pollActivityTaskHandlers } from './poll-activity-task.ts';
import { pollWorkflowTaskHandlers } from './poll-workflow-task.ts';
import { queryWorkflowHandlers } from './query-workflow.ts';
import { resetStickyHandlers } from './reset-sticky.ts';
import { respondActivityTaskHandlers } from './respond-activity-task.ts';
import { respondWorkflowTaskHandlers } from './respond-workflow-task.ts';
import { shutdownWorkerHandlers } from './shutdown-worker.ts';
import { signalWorkflowHandlers } from './signal-workflow.ts';
import { startWorkflowHandlers } from './start-workflow.ts';
import { badRequest, optionalId } from './validate/ids.ts';

/** RPCs that wait for others and bound themselves. */
const WAITING: ReadonlySet<RpcName> = new Set<RpcName>([
  'PollWorkflowTaskQueue',
  'PollActivityTaskQueue',
  'QueryWorkflow',
  'GetWorkflowExecutionHistory',
]);

const READS = /^(Get|List|Scan|Count|Describe|Query)/;
const WORKS = /^(Poll|Respond|Record|Shutdown)/;

export class Frontend {
  readonly #parts: FrontendParts;
  readonly #handlers: Handlers;

  constructor(parts: FrontendParts) {
    this.#parts = parts;
    this.#handlers = {
      ...startWorkflowHandlers(parts),
      ...signalWorkflowHandlers(parts),
      ...endWorkflowHandlers(parts),
      ...queryWorkflowHandlers(parts),
      ...describeWorkflowHandlers(parts),
      ...getHistoryHandlers(parts),
      ...getHistoryReverseHandlers(parts),
      ...resetStickyHandlers(parts),
      ...pollWorkflowTaskHandlers(parts),
      ...respondWorkflowTaskHandlers(parts),
      ...pollActivityTaskHandlers(parts),
      ...respondActivityTaskHandlers(parts),
      ...shutdownWorkerHandlers(parts),
      ...listWorkflowsHandlers(parts),
      ...describeTaskQueueHandlers(parts),
    };
  }

  /** Names of the RPCs that need an admitted namespace and are answered here. */
  get rpcs(): readonly RpcName[] {
    return Object.keys(this.#handlers) as RpcName[];
  }

  /**
   * Answers one call: plain data, or encoded chunks that together are the response.
   * @throws AtollError of any code; `unimplemented` for an RPC that is not answered here
   */
  async call<M extends RpcName>(
    name: M,
    request: Request<M>,
    call: FrontendCall,
  ): Promise<Answer<M>> {
    if (name === 'GetSystemInfo') return systemInfo(this.#parts.config.serverVersion) as Answer<M>;
    if (name === 'DescribeNamespace') {
      return (await this.#describeNamespace(request, call)) as Answer<M>;
    }
    const handler = (this.#handlers as Readonly<Record<string, unknown>>)[name];
    if (handler === undefined || !Object.hasOwn(this.#handlers, name)) throw notImplemented(name);
    const namespace = namespaceOf(request, call);
    await this.#parts.authoriser.authorise(call, verbOf(name), namespace);
    const admitted = await this.#parts.admission.admit(call.headers, namespace);
    const answer = (signal: AbortSignal) => {
      const { headers, deadlineMs } = call;
      return (handler as Handler<M>)(request, { headers, deadlineMs, ...admitted, signal });
    };
    return WAITING.has(name) ? answer(call.signal) : this.#bounded(name, call, answer);
  }

  async #bounded<Result>(
    name: string,
    call: FrontendCall,
    answer: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const { clock, config } = this.#parts;
    const options = { what: name, timeoutMs: config.callMs, parent: call.signal };
    let ours: AbortSignal | undefined;
    try {
      return await withDeadline(clock, options, (signal) => answer((ours = signal)));
    } catch (thrown) {
      if (call.signal.aborted || ours?.reason !== thrown) throw thrown;
      throw new AtollError(
        'unavailable',
        `${name} was not answered within ${config.callMs} ms and may still take effect: call again.`,
        { cause: thrown },
      );
    }
  }

  async #describeNamespace(request: Request<'DescribeNamespace'>, call: FrontendCall) {
    const name = optionalId('Namespace', request.namespace);
    const id = optionalId('Id', request.id);
    if (name === '' && id === '') throw badRequest('Namespace is not set on request.');
    await this.#parts.authoriser.authorise(call, 'read', name);
    const namespace = this.#parts.admission.find({ name, id });
    if (namespace === undefined) throw namespaceNotFound(name || id);
    return namespaceMessage(namespace);
  }
}

/** The namespace of the request's body or, where that is empty, of the metadata. */
function namespaceOf(request: { readonly namespace?: unknown }, call: FrontendCall): string {
  const { namespace } = request;
  const body = optionalId('Namespace', typeof namespace === 'string' ? namespace : '');
  const header = call.headers['temporal-namespace'];
  if (typeof header === 'string' && header !== '') {
    if (body !== '' && body !== header) {
      throw badRequest('Namespace of the request and header temporal-namespace differ.');
    }
    return optionalId('Namespace', header);
  }
  if (body === '') throw badRequest('Namespace is not set on request.');
  return body;
}

function verbOf(name: RpcName): Verb {
  if (READS.test(name)) return 'read';
  return WORKS.test(name) ? 'work' : 'write';
}

function notImplemented(name: string): AtollError {
  return new AtollError(
    'unimplemented',
    `${name} is not implemented by this version of Atoll: see README.md for what is.`,
  );
}
