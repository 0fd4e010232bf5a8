/** A fleet map in memory and one cell on a database, for end-to-end tests of a cell without a router. */
import { CachedFleetMap } from '../../fleet/cached-map.ts';
import { MemoryFleetMap } from '../../fleet/memory/fleet-map.ts';
import { registerNamespace } from '../../fleet/table.ts';
import { systemClock } from '../../kernel/clock.ts';
import { silentLog } from '../../kernel/log.ts';
import { systemRng } from '../../kernel/rng.ts';
import { RpcChannel } from '../../kernel/rpc/client.ts';
import {
  methodOf,
  WORKFLOW_SERVICE,
  type Request,
  type Response,
  type RpcName,
} from '../../wire/services.ts';
import type { CellStorageOptions } from '../cell-storage.ts';
import { startCell, type CellOptions } from '../start-cell.ts';
import { throwawayKeyRing } from '../token-keys.ts';

export type CallOptions = {
  /** What the client allows; 20 s by default. */
  readonly timeoutMs?: number;
  /** Ends the call from the client's side. */
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
};

export type ThrowawayCell = {
  call<M extends RpcName>(
    name: M,
    request: Request<M>,
    options?: CallOptions,
  ): Promise<Response<M>>;
  /** A call of any path with any bytes; answers with the bytes. */
  send(path: string, body: Uint8Array, options?: CallOptions): Promise<Uint8Array>;
  /** Registers a further namespace in this cell. */
  register(namespace: string): Promise<void>;
  close(): Promise<void>;
};

/** Starts a cell with namespace `default`. */
export async function startThrowawayCell(
  storage: CellStorageOptions,
  overrides: Partial<CellOptions> = {},
): Promise<ThrowawayCell> {
  const map = await CachedFleetMap.open({
    store: new MemoryFleetMap(),
    log: silentLog,
    clock: systemClock,
  });
  const cell = await startCell(
    {
      id: 'a',
      region: 'test',
      listen: { host: '127.0.0.1', port: 0 },
      shards: 4,
      storage,
      onShardStopped: () => {},
      ...overrides,
    },
    {
      clock: systemClock,
      rng: systemRng,
      log: silentLog,
      map,
      tokens: throwawayKeyRing(systemRng),
    },
  );
  const register = async (name: string) => {
    const namespace = {
      id: systemRng.uuid(),
      name,
      description: '',
      ownerEmail: '',
      data: {},
      retentionMs: 86_400_000,
      registeredAt: systemClock.now(),
      cell: 'a',
    };
    await map.update((known) => registerNamespace(known, namespace), new AbortController().signal);
  };
  await register('default');
  const channel = new RpcChannel(cell.address);
  const send = async (path: string, bytes: Uint8Array, options: CallOptions = {}) => {
    const { timeoutMs = 20_000, signal, headers = {} } = options;
    return (await channel.call(path, headers, bytes, { timeoutMs, signal })).body;
  };
  return {
    register,
    send,
    async call(name, request, options) {
      const method = methodOf(`/${WORKFLOW_SERVICE}/${name}`);
      const body = await send(method.path, method.request.encode(request), options);
      return method.response.decode(body) as Response<typeof name>;
    },
    async close() {
      channel.close();
      await cell.close();
      await map.close();
    },
  };
}
