/**
 * The way of clients and workers into a fleet, as a small model of the router: it calls the cell that it believes active,
 * learns from refusals and from the map, and holds calls while a namespace is in handover.
 *
 * Invariants
 *  1. What a cell refused before it did anything is sent again, within the call's deadline; nothing else is.
 *  2. Its belief never goes back to an older epoch.
 */
import type { FrontendCall } from '../../../cell/frontend/frontend-call.ts';
import type { Answer } from '../../../cell/frontend/call.ts';
import {
  EPOCH_HEADER,
  HANDOVER,
  NOT_ACTIVE,
  OWNER_HEADER,
  REFUSED_HEADER,
} from '../../../fleet/call-headers.ts';
import type { FleetMap } from '../../../fleet/map.ts';
import { sleep } from '../../../kernel/clock.ts';
import { AtollError, toAtollError } from '../../../kernel/errors.ts';
import type { SeededRng } from '../../../kernel/testing/seeded-rng.ts';
import type { Request, RpcName } from '../../../wire/services.ts';
import { NAMESPACE_ID } from '../host.ts';
import { HostGate } from '../host-gate.ts';
import type { Tally } from '../tally.ts';
import type { WorldTime } from '../world-time.ts';
import type { HandedSignals } from './handed-signals.ts';
import { LateMap, type MapPlace } from './late-map.ts';
import type { Links } from './links.ts';
import type { CellProcess } from './sim-cell.ts';
import type { FleetAct } from './tally.ts';

export type RouterParts = {
  readonly time: WorldTime;
  readonly rng: SeededRng;
  readonly links: Links;
  readonly map: MapPlace;
  readonly cell: (id: string) => CellProcess | undefined;
  readonly tally: Tally<FleetAct>;
  readonly first: FleetMap;
  readonly handed: HandedSignals;
};

type Belief = { readonly cell: string; readonly epoch: number };

const CALL_MS = 60_000;
const HOLD_MS = 60;
const AGAIN_MS = 80;

export class SimRouter {
  readonly name: string;
  readonly gate: HostGate;
  readonly frontend: {
    call<M extends RpcName>(name: M, request: Request<M>, call: FrontendCall): Promise<Answer<M>>;
  };
  readonly #parts: RouterParts;
  #belief: Belief = { cell: '', epoch: 0 };

  constructor(name: string, parts: RouterParts) {
    this.name = name;
    this.#parts = parts;
    const { time, links, map } = parts;
    this.gate = new HostGate(time, 0);
    this.frontend = { call: (name, request, call) => this.#call(name, { request, call }) };
    new LateMap(this, { map, links, time }).watch((newer) => this.#see(newer));
    this.#see(parts.first);
  }

  /** The cell that it believes active. */
  get active(): string {
    return this.#belief.cell;
  }

  #see(map: FleetMap): void {
    const placement = map.namespaces[NAMESPACE_ID]?.placement;
    if (placement) this.#learn({ cell: placement.active, epoch: placement.epoch });
  }

  #learn(belief: Belief): void {
    if (belief.epoch > this.#belief.epoch) this.#belief = belief;
  }

  async #call<M extends RpcName>(
    name: M,
    asked: { readonly request: Request<M>; readonly call: FrontendCall },
  ): Promise<Answer<M>> {
    const { time, tally } = this.#parts;
    const endMs = time.monotonicMs() + (asked.call.deadlineMs ?? CALL_MS);
    for (;;) {
      try {
        return await this.#once(name, { ...asked, leftMs: endMs - time.monotonicMs() });
      } catch (thrown) {
        const error = toAtollError(thrown);
        const why = error.trailers?.[REFUSED_HEADER];
        const gone = asked.call.signal.aborted || time.monotonicMs() + HOLD_MS >= endMs;
        if (why === undefined || gone) throw error;
        const owner = error.trailers?.[OWNER_HEADER] ?? '';
        const epoch = Number(error.trailers?.[EPOCH_HEADER] ?? 0);
        if (why === HANDOVER) tally.add('call held');
        if (why === NOT_ACTIVE) {
          tally.add('call sent to the wrong cell');
          const knew = this.#belief.epoch;
          if (owner !== '') this.#learn({ cell: owner, epoch });
          if (this.#belief.epoch > knew) continue;
        }
        await sleep(time, why === HANDOVER ? HOLD_MS : AGAIN_MS);
      }
    }
  }

  async #once<M extends RpcName>(
    name: M,
    asked: {
      readonly request: Request<M>;
      readonly call: FrontendCall;
      readonly leftMs: number;
    },
  ): Promise<Answer<M>> {
    const { cell: id, epoch } = this.#belief;
    const { cell, time, rng, handed } = this.#parts;
    await sleep(time, 0.2 + rng.fraction());
    const process = cell(id);
    if (!process) throw new AtollError('unavailable', `cell ${id} is down`);
    const { request, call, leftMs } = asked;
    const headers = { [EPOCH_HEADER]: String(epoch) };
    return new Promise((resolve, reject) => {
      const stop = process.gate.onDeath(() =>
        reject(new AtollError('unavailable', `cell ${id} is gone`)),
      );
      process.gate.enter(() => {
        const failed = handed.handed(name, request);
        process.frontend
          .call(name, request, { signal: call.signal, deadlineMs: leftMs, headers })
          .finally(stop)
          .then(resolve, (error: unknown) => {
            failed(error);
            reject(toAtollError(error));
          });
      });
    });
  }
}
