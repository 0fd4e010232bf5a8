/**
 * The frontend on the wire: from a call's path and bytes to the answer's bytes.
 * Place: given to `kernel/rpc`'s RpcServer as its handler, with `encodeStatusDetails` for typed errors.
 */
import { InvariantError } from '../../kernel/invariant.ts';
import type { Log } from '../../kernel/log.ts';
import type { RpcHandler, RpcReply } from '../../kernel/rpc/server-call.ts';
import { AtollError, toAtollError } from '../../kernel/errors.ts';
import { HEALTH_CHECK_PATH, healthCheckResponse } from '../../wire/health.ts';
import {
  decodeRequest,
  encodeResponse,
  methodOf,
  WORKFLOW_SERVICE,
  type Request,
  type RpcName,
  type ServiceMethod,
} from '../../wire/services.ts';
import type { FrontendCall } from './frontend-call.ts';
import type { Frontend } from './frontend.ts';

export type RpcHandlerParts = {
  readonly frontend: Pick<Frontend, 'call'>;
  readonly log: Log;
  /** What health checks are told. */
  readonly isServing: () => boolean;
};

export function frontendRpcHandler(parts: RpcHandlerParts): RpcHandler {
  return async (call) => {
    if (call.path === HEALTH_CHECK_PATH) {
      return healthCheckResponse(call.body, parts.isServing() ? 'serving' : 'not-serving');
    }
    const method = methodOf(call.path);
    try {
      return await answer(parts.frontend, method, call);
    } catch (thrown) {
      throw reported(parts.log, method, thrown);
    }
  };
}

async function answer(
  frontend: Pick<Frontend, 'call'>,
  method: ServiceMethod,
  call: FrontendCall & { readonly body: Uint8Array },
): Promise<RpcReply> {
  if (method.service !== WORKFLOW_SERVICE) {
    throw new AtollError('unimplemented', `${method.name} is not implemented by this cell.`);
  }
  const name = method.name as RpcName;
  const request = decodeRequest(method, call.body) as Request<RpcName>;
  const answered: unknown = await frontend.call(name, request, call);
  return Array.isArray(answered)
    ? (answered as readonly Uint8Array[])
    : encodeResponse(method, answered);
}

/** Faults of ours are logged with their cause; the caller gets the sentence. Callers' faults are theirs to log. */
function reported(log: Log, method: ServiceMethod, thrown: unknown): AtollError {
  const error = toAtollError(thrown);
  if (error.code === 'internal' || error.code === 'data-loss') {
    const fields = { rpc: method.name, error: error.message, cause: error.cause ?? error };
    log.error(fields, 'A call failed by a fault of this cell.');
  }
  if (!(thrown instanceof InvariantError)) return error;
  // Its text is about our insides: of use in the log, not to a client.
  return new AtollError('internal', `${method.name} failed by a fault of this cell: see its log.`);
}
