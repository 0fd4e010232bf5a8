/** Calls of `atoll.admin.v1`, with the address and token that flags and environment give. */
import type { SecureClientSessionOptions } from 'node:http2';
import { AtollError } from '../../kernel/errors.ts';
import { RpcChannel } from '../../kernel/rpc/client.ts';
import {
  ADMIN_METHODS,
  ADMIN_SERVICE,
  type AdminMethodName,
  type AdminRequest,
  type AdminResponse,
} from '../../wire/atoll/admin.ts';
import type { CliPorts } from './ports.ts';

const CALL_MS = 20_000;
const VERIFY_MS = 600_000;

export type AdminClient = {
  call<M extends AdminMethodName>(name: M, request: AdminRequest<M>): Promise<AdminResponse<M>>;
  close(): void;
};

export function openAdminClient(
  ports: CliPorts,
  to: { readonly address: string; readonly tls: SecureClientSessionOptions | undefined },
): AdminClient {
  const { address, tls } = to;
  const channel = new RpcChannel(address, { sessions: 1, clock: ports.clock, tls });
  const token = ports.env['ATOLL_TOKEN'];
  const headers: Record<string, string> =
    token === undefined ? {} : { authorization: `Bearer ${token}` };
  return {
    call: async <M extends AdminMethodName>(name: M, request: AdminRequest<M>) => {
      const method = ADMIN_METHODS.get(`/${ADMIN_SERVICE}/${name}`);
      if (method === undefined) throw new AtollError('unimplemented', `no method ${name}`);
      const timeoutMs = name === 'VerifyNamespace' ? VERIFY_MS : CALL_MS;
      const body = method.request.encode(request);
      const answer = await channel.call(method.path, headers, body, {
        timeoutMs,
        signal: ports.interrupted,
      });
      return method.response.decode(answer.body) as AdminResponse<M>;
    },
    close: () => channel.close(),
  };
}
