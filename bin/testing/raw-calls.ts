/** Raw RPCs to a router or a cell, for tests that look at what an SDK hides: codes, deadlines, bytes. */
import { RpcChannel } from '../../kernel/rpc/client.ts';
import {
  methodOf,
  WORKFLOW_SERVICE,
  type Request,
  type Response,
  type RpcName,
} from '../../wire/services.ts';

export type CallOptions = {
  /** What the client allows; 20 s by default. */
  readonly timeoutMs?: number;
  /** Ends the call from the client's side. */
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
};

export type RawCalls = {
  call<M extends RpcName>(
    name: M,
    request: Request<M>,
    options?: CallOptions,
  ): Promise<Response<M>>;
  /** A call of any path with any bytes; answers with the bytes. */
  send(path: string, body: Uint8Array, options?: CallOptions): Promise<Uint8Array>;
  close(): void;
};

/** @param address `host:port` */
export function rawCalls(address: string): RawCalls {
  const channel = new RpcChannel(address);
  const send = async (path: string, bytes: Uint8Array, options: CallOptions = {}) => {
    const { timeoutMs = 20_000, signal, headers = {} } = options;
    return (await channel.call(path, headers, bytes, { timeoutMs, signal })).body;
  };
  return {
    send,
    async call(name, request, options) {
      const method = methodOf(`/${WORKFLOW_SERVICE}/${name}`);
      const body = await send(method.path, method.request.encode(request), options);
      return method.response.decode(body) as Response<typeof name>;
    },
    close: () => channel.close(),
  };
}
