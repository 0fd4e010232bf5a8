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
  /** Part of the contract, and not here. `why` says what to do instead. */
  | { readonly kind: 'unimplemented'; readonly why: string };

const SERVED: ReadonlySet<string> = new Set([WORKFLOW_SERVICE, OPERATOR_SERVICE, HEALTH_SERVICE]);

/** What a namespace is and where it lives is the fleet map's business, so the router's own. */
const LOCAL = new Set([
  `/${WORKFLOW_SERVICE}/GetSystemInfo`,
  `/${WORKFLOW_SERVICE}/GetClusterInfo`,
  `/${WORKFLOW_SERVICE}/RegisterNamespace`,
  `/${WORKFLOW_SERVICE}/UpdateNamespace`,
  `/${WORKFLOW_SERVICE}/DescribeNamespace`,
  `/${WORKFLOW_SERVICE}/ListNamespaces`,
  `/${OPERATOR_SERVICE}/ListClusters`,
  `/${HEALTH_SERVICE}/Check`,
]);

const NO_NEXUS = 'it has no Nexus endpoints';
const CELLS_JOIN = 'a cell enters the fleet map by itself when it starts (atoll cell)';
/**
 * What is refused and why, method by method (docs/router.md has the table): changes of a namespace that the fleet map
 * cannot make yet, since no cell may make them behind its back, and calls of no namespace that nothing here answers.
 */
const REFUSED: ReadonlyMap<string, string> = new Map([
  [`/${WORKFLOW_SERVICE}/DeprecateNamespace`, 'namespaces cannot be deprecated yet'],
  [`/${WORKFLOW_SERVICE}/GetSearchAttributes`, 'search attributes belong to a namespace here'],
  [`/${OPERATOR_SERVICE}/DeleteNamespace`, 'namespaces cannot be deleted yet'],
  [`/${OPERATOR_SERVICE}/AddOrUpdateRemoteCluster`, CELLS_JOIN],
  [`/${OPERATOR_SERVICE}/RemoveRemoteCluster`, CELLS_JOIN],
  [`/${OPERATOR_SERVICE}/GetNexusEndpoint`, NO_NEXUS],
  [`/${OPERATOR_SERVICE}/CreateNexusEndpoint`, NO_NEXUS],
  [`/${OPERATOR_SERVICE}/UpdateNexusEndpoint`, NO_NEXUS],
  [`/${OPERATOR_SERVICE}/DeleteNexusEndpoint`, NO_NEXUS],
  [`/${OPERATOR_SERVICE}/ListNexusEndpoints`, NO_NEXUS],
  [`/${HEALTH_SERVICE}/Watch`, 'ask Check now and then'],
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
export function notServed(path: string, why = ''): AtollError {
  const [, service = '', method = ''] = path.split('/');
  const what = SERVED.has(service)
    ? `method ${method} of ${service}`
    : `service ${service || path}`;
  const reason = why === '' ? '' : `: ${why}`;
  return new AtollError('unimplemented', `Atoll does not serve ${what}${reason}.`);
}

function routeOf(path: string, name: string, field: number | undefined): Route {
  if (LOCAL.has(path)) return { kind: 'local', name };
  const why = REFUSED.get(path);
  if (why !== undefined || field === undefined) return { kind: 'unimplemented', why: why ?? '' };
  return { kind: 'namespaced', field };
}

function namespaceField(request: string): number | undefined {
  return fieldsOf(request).find((field) => field.name === 'namespace')?.id;
}
