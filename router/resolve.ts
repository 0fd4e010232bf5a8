/**
 * Which namespace a call is for (D11): the `temporal-namespace` header first, else the request's own field.
 *
 * Place: asked once a call by call.ts. The cell checks again that the request's namespace is the one that the
 * router named: the header only routes, it gives no rights.
 */
import { AtollError } from '../kernel/errors.ts';
import type { CachedFleetMap } from '../fleet/cached-map.ts';
import type { Namespace } from '../fleet/map.ts';
import { scanRequest } from './scan.ts';

export type Resolved =
  | { readonly kind: 'namespace'; readonly namespace: Namespace }
  /** Not in the known map: worth asking the store once, for it may be new. */
  | { readonly kind: 'unknown'; readonly name: string }
  | { readonly kind: 'refused'; readonly error: AtollError };

export function resolveName(map: CachedFleetMap, name: string): Resolved {
  const namespace = map.namespaceByName(name);
  return namespace === undefined ? { kind: 'unknown', name } : { kind: 'namespace', namespace };
}

/** For calls without the header. The arguments are those of `scanRequest`. */
export function resolveBody(
  map: CachedFleetMap,
  body: Buffer,
  { field, maxInflatedBytes }: { readonly field: number; readonly maxInflatedBytes: number },
): Resolved {
  const scan = scanRequest(body, field, maxInflatedBytes);
  switch (scan.kind) {
    case 'found':
      return scan.value === '' ? missing() : resolveName(map, scan.value);
    case 'absent':
      return missing();
    case 'malformed':
      return refused(`The request is not a valid message: ${scan.why}.`);
  }
}

function missing(): Resolved {
  return refused(
    'Namespace is not set on the request: set the namespace in the client, or send the header temporal-namespace.',
  );
}

function refused(message: string): Resolved {
  return { kind: 'refused', error: new AtollError('invalid-argument', message) };
}
