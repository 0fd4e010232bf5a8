/**
 * The port to where namespaces live (D8): is this namespace known, and is this cell the active one for it?
 *
 * Promises
 *  1. Who is admitted gets the id and the epoch of the newest map that this cell has seen, and never an older one than
 *     the caller's router believed in (header `atoll-epoch`).
 *  2. A namespace that is active elsewhere is refused with the trailers below, which tell the router where to go.
 */
import { AtollError } from '../../kernel/errors.ts';
import {
  EPOCH_HEADER,
  NOT_ACTIVE,
  OWNER_HEADER,
  REFUSED_HEADER,
} from '../../fleet/call-headers.ts';
import type { Namespace } from '../../fleet/map.ts';
import type { FrontendCall } from './frontend-call.ts';

export type Admitted = {
  readonly namespace: string;
  readonly namespaceId: string;
  /** The namespace's epoch by this cell's map. */
  readonly epoch: number;
};

export interface Admission {
  /** @throws AtollError `not-found` (unknown namespace) or `unavailable` with trailers (active elsewhere) */
  admit(headers: FrontendCall['headers'], namespace: string): Promise<Admitted>;

  /** The namespace of that name, or else of that id, for describing; wherever it is active. */
  find(nameOrId: { readonly name: string; readonly id: string }): Namespace | undefined;
}

export function notActive(namespace: Namespace, cellId: string): AtollError {
  const { active, epoch } = namespace.placement;
  return new AtollError(
    'unavailable',
    `Namespace ${namespace.name} is active in cell ${active}, not in ${cellId}: call through a router.`,
    {
      detail: {
        type: 'NamespaceNotActiveFailure',
        value: { namespace: namespace.name, currentCluster: cellId, activeCluster: active },
      },
      trailers: {
        [REFUSED_HEADER]: NOT_ACTIVE,
        [OWNER_HEADER]: active,
        [EPOCH_HEADER]: String(epoch),
      },
    },
  );
}
