/**
 * Admission by the cell's copy of the fleet map (D8, P12): works with the control plane down.
 * A call whose router has seen a newer epoch, or an unknown name, makes the copy look once before it answers.
 */
import { EPOCH_HEADER } from '../../fleet/call-headers.ts';
import type { CachedFleetMap } from '../../fleet/cached-map.ts';
import type { Namespace } from '../../fleet/map.ts';
import { namespaceNotFound } from '../../wire/failures.ts';
import { notActive, type Admission, type Admitted } from './admission.ts';
import type { FrontendCall } from './frontend-call.ts';

type Map = Pick<CachedFleetMap, 'namespaceByName' | 'namespaceById' | 'refresh'>;

export class FleetAdmission implements Admission {
  readonly #map: Map;
  readonly #cellId: string;

  constructor(map: Map, cellId: string) {
    this.#map = map;
    this.#cellId = cellId;
  }

  async admit(headers: FrontendCall['headers'], name: string): Promise<Admitted> {
    let namespace = this.#map.namespaceByName(name);
    if (namespace === undefined || namespace.placement.epoch < believedEpoch(headers)) {
      await this.#map.refresh();
      namespace = this.#map.namespaceByName(name);
    }
    if (namespace === undefined) throw namespaceNotFound(name);
    if (namespace.placement.active !== this.#cellId) throw notActive(namespace, this.#cellId);
    return { namespace: name, namespaceId: namespace.id, epoch: namespace.placement.epoch };
  }

  find(asked: { readonly name: string; readonly id: string }): Namespace | undefined {
    return asked.name === ''
      ? this.#map.namespaceById(asked.id)
      : this.#map.namespaceByName(asked.name);
  }
}

/** 0 when no router said anything that is a number. */
function believedEpoch(headers: FrontendCall['headers']): number {
  const epoch = Number(headers[EPOCH_HEADER]);
  return Number.isSafeInteger(epoch) ? epoch : 0;
}
