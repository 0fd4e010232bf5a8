/**
 * `atoll.admin.v1`: each method's right, and what answers it (D1, D18). A process serves it on a port of its own
 * (bin/admin.ts) by `adminRpcHandler`.
 *
 * Invariant: nothing is read or changed before the right for it was checked.
 */
import { CALLER_CERTIFICATE_HEADER } from '../../fleet/call-headers.ts';
import type { Verb } from '../../fleet/rights.ts';
import { AtollError } from '../../kernel/errors.ts';
import type { RpcCall, RpcHandler } from '../../kernel/rpc/server-call.ts';
import {
  ADMIN_METHODS,
  type AdminMethodName,
  type AdminRequest,
  type AdminResponse,
} from '../../wire/atoll/admin.ts';
import { HEALTH_CHECK_PATH, healthCheckResponse } from '../../wire/health.ts';
import { estimateLoss, failOverCall } from './failover-calls.ts';
import { getLossReport } from './loss-report-call.ts';
import {
  abortMoveCall,
  backMove,
  confirmMove,
  describeMove,
  planMoveCall,
  startMoveCall,
  verifyNamespace,
} from './move-calls.ts';
import {
  createNamespace,
  describeFleet,
  describeNamespace,
  listNamespaces,
  updateNamespaceCall,
} from './namespace-calls.ts';
import type { AdminPorts } from './ports.ts';

type AdminHandler<M extends AdminMethodName> = {
  readonly verb: Verb;
  handle(ports: AdminPorts, request: AdminRequest<M>): Promise<AdminResponse<M>>;
};

const HANDLERS: { readonly [M in AdminMethodName]: AdminHandler<M> } = {
  DescribeFleet: { verb: 'read', handle: describeFleet },
  CreateNamespace: { verb: 'admin', handle: createNamespace },
  UpdateNamespace: { verb: 'admin', handle: updateNamespaceCall },
  DescribeNamespace: { verb: 'read', handle: describeNamespace },
  ListNamespaces: { verb: 'read', handle: listNamespaces },
  PlanMove: { verb: 'read', handle: planMoveCall },
  StartMove: { verb: 'admin', handle: startMoveCall },
  DescribeMove: { verb: 'read', handle: describeMove },
  ConfirmMove: { verb: 'admin', handle: confirmMove },
  AbortMove: { verb: 'admin', handle: abortMoveCall },
  BackMove: { verb: 'admin', handle: backMove },
  // It may repair, and reads everything.
  VerifyNamespace: { verb: 'admin', handle: verifyNamespace },
  EstimateLoss: { verb: 'read', handle: estimateLoss },
  FailOver: { verb: 'admin', handle: failOverCall },
  GetLossReport: { verb: 'read', handle: getLossReport },
};

/** Of calls that name no namespace: the right in all of them. */
const EVERY = '*';

export function adminRpcHandler(ports: AdminPorts): RpcHandler {
  return async (call) => {
    if (call.path === HEALTH_CHECK_PATH) return healthCheckResponse(call.body, 'serving');
    const method = ADMIN_METHODS.get(call.path);
    if (method === undefined) {
      const message = `unknown method ${call.path.slice(0, 200)}: this port speaks atoll.admin.v1`;
      throw new AtollError('unimplemented', message);
    }
    // The table pairs the types; by name they are only known as a whole.
    const handler = HANDLERS[method.name] as AdminHandler<AdminMethodName>;
    const request = method.request.decode(call.body) as AdminRequest<AdminMethodName>;
    authorise(ports, { call, verb: handler.verb, namespace: namespaceOf(request) });
    return method.response.encode(await handler.handle(ports, request));
  };
}

function authorise(
  { rights }: AdminPorts,
  asked: { readonly call: RpcCall; readonly verb: Verb; readonly namespace: string },
): void {
  const { headers, peer } = asked.call;
  const credentials = {
    authorization: text(headers['authorization']),
    peer,
    reported: text(headers[CALLER_CERTIFICATE_HEADER]),
  };
  rights?.check(credentials, asked.verb, asked.namespace);
}

function namespaceOf(request: {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}): string {
  return request.namespace || request.name || EVERY;
}

function text(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
