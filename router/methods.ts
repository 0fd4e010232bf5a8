/**
 * Every RPC that a client may call, by path, and what the router does with it: answer itself, pass on by namespace,
 * or refuse. Computed once from the contract's descriptors, so a method that a newer contract adds is routed at once.
 */
import { AtollError } from '../kernel/errors.ts';
import { fieldsOf } from '../wire/proto.ts';
import { HEALTH_SERVICE, METHODS, OPERATOR_SERVICE, WORKFLOW_SERVICE } from '../wire/services.ts';

export type Route =
  /** Answered by local-calls.ts under this name. */
  | { readonly kind: 'local'; readonly name: string }
  /** Passed to the namespace's cell. `field` is the number of the request's namespace field. */
  | { readonly kind: 'namespaced'; readonly field: number }
  /** Part of the contract, but of no namespace, and not here. */
  | { readonly kind: 'unimplemented' };

const SERVED: ReadonlySet<string> = new Set([WORKFLOW_SERVICE, OPERATOR_SERVICE, HEALTH_SERVICE]);

/** What a namespace is and where it lives is the fleet map's business, so the router's own. */
const LOCAL = new Set([
  `/${WORKFLOW_SERVICE}/GetSystemInfo`,
  `/${WORKFLOW_SERVICE}/GetClusterInfo`,
  `/${WORKFLOW_SERVICE}/RegisterNamespace`,
  `/${WORKFLOW_SERVICE}/UpdateNamespace`,
  `/${WORKFLOW_SERVICE}/DescribeNamespace`,
  `/${WORKFLOW_SERVICE}/ListNamespaces`,
  `/${HEALTH_SERVICE}/Check`,
]);

/** Changes of a namespace that the fleet map cannot make yet: no cell may make them behind its back. */
const NOT_YET = new Set([
  `/${WORKFLOW_SERVICE}/DeprecateNamespace`,
  `/${OPERATOR_SERVICE}/DeleteNamespace`,
]);

/** Path → route, for every RPC of the contract. */
export function routesOfContract(): ReadonlyMap<string, Route> {
  const routes = new Map<string, Route>();
  for (const [path, method] of METHODS) {
    routes.set(path, routeOf(path, method.name, namespaceField(method.request.name)));
  }
  return routes;
}

/** The error for a path that is not served: it names what was asked for. */
export function notServed(path: string): AtollError {
  const [, service = '', method = ''] = path.split('/');
  const what = SERVED.has(service)
    ? `method ${method} of ${service}`
    : `service ${service || path}`;
  return new AtollError('unimplemented', `Atoll does not serve ${what}.`);
}

function routeOf(path: string, name: string, field: number | undefined): Route {
  if (LOCAL.has(path)) return { kind: 'local', name };
  if (NOT_YET.has(path) || field === undefined) return { kind: 'unimplemented' };
  return { kind: 'namespaced', field };
}

function namespaceField(request: string): number | undefined {
  return fieldsOf(request).find((field) => field.name === 'namespace')?.id;
}
