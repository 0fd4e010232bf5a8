/**
 * Signed calls to the cells of the fleet map, over connections that are kept.
 *
 * Invariants
 *  1. One channel a cell, to the address that the map says now.
 *  2. Every call is signed for its cell, its path and its body.
 */
import type { ConnectionOptions } from 'node:tls';
import type { CachedFleetMap } from '../../fleet/cached-map.ts';
import type { Clock } from '../../kernel/clock.ts';
import { AtollError } from '../../kernel/errors.ts';
import { LinkChannel } from '../../kernel/rpc/link-channel.ts';
import type { TokenKeyRing } from '../../wire/signed-token.ts';
import type { ReplicationMethod } from '../../wire/atoll/replication.ts';
import { SIGNATURE_HEADER, signCall, type Caller } from './call-signature.ts';

export type CellCallsParts = {
  readonly caller: Caller;
  readonly map: Pick<CachedFleetMap, 'map'>;
  readonly tokens: TokenKeyRing;
  readonly clock: Clock;
  readonly tls?: ConnectionOptions | undefined;
};

/** Pushes of many lanes share a connection; two, so that a large one does not stop all. */
const LINKS = 2;

export class CellCalls {
  readonly #parts: CellCallsParts;
  readonly #channels = new Map<string, { readonly address: string; readonly rpc: LinkChannel }>();

  constructor(parts: CellCallsParts) {
    this.#parts = parts;
  }

  /** @throws AtollError `not-found` for a cell that is not in the map; else what the call comes to */
  async call<Request, Response>(
    cellId: string,
    method: ReplicationMethod<Request, Response>,
    call: { readonly request: Request; readonly signal: AbortSignal; readonly timeoutMs: number },
  ): Promise<Response> {
    const { caller, tokens, clock } = this.#parts;
    const { path } = method;
    const body = method.request.encode(call.request);
    const signed = { path, body, to: cellId, now: clock.now() };
    const headers = { [SIGNATURE_HEADER]: signCall(tokens, caller, signed) };
    const answer = await this.#channel(cellId).call(path, headers, body, call);
    return method.response.decode(answer);
  }

  close(): void {
    for (const { rpc } of this.#channels.values()) rpc.close();
    this.#channels.clear();
  }

  #channel(cellId: string): LinkChannel {
    const { map, clock, tls } = this.#parts;
    const cell = map.map.cells[cellId];
    if (cell === undefined) {
      throw new AtollError('not-found', `Cell ${cellId} is not in the fleet map.`);
    }
    const known = this.#channels.get(cellId);
    if (known?.address === cell.address) return known.rpc;
    known?.rpc.close();
    const rpc = new LinkChannel(cell.address, { clock, links: LINKS, tls });
    this.#channels.set(cellId, { address: cell.address, rpc });
    return rpc;
  }
}
