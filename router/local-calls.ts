/**
 * The calls that the router answers itself: what the fleet can do, which namespaces it has, and that it is alive.
 *
 * Place: behind call.ts for routes of kind `local`. Each takes the request's bytes and gives the answer's.
 * Capabilities are announced only for what exists (the intersection over cells, once cells differ).
 */
import { invariant } from '../kernel/invariant.ts';
import { healthCheckResponse } from '../wire/health.ts';
import type { Credentials } from '../fleet/rights.ts';
import type { MessageType } from '../wire/proto.ts';
import { METHODS, type Request } from '../wire/services.ts';
import { systemInfo } from '../wire/system-info.ts';
import {
  describeNamespace,
  listNamespaces,
  registerNamespaceCall,
  updateNamespaceCall,
} from './namespace-calls.ts';
import type { RouterParts } from './parts.ts';

/** Answers one request. Rejects or throws an AtollError. */
export type LocalCall = (
  request: Uint8Array,
  caller: Credentials,
) => Uint8Array | Promise<Uint8Array>;

/** By RPC name, as in methods.ts. */
export function localCalls(parts: RouterParts): ReadonlyMap<string, LocalCall> {
  return new Map<string, LocalCall>([
    bind('GetSystemInfo', () => systemInfo(parts.config.serverVersion)),
    bind('GetClusterInfo', () => clusterInfo(parts)),
    bind('RegisterNamespace', (request: Request<'RegisterNamespace'>, caller) => {
      parts.rights?.check(caller, 'admin', request.namespace ?? '');
      return registerNamespaceCall(parts, request);
    }),
    bind('UpdateNamespace', (request: Request<'UpdateNamespace'>, caller) => {
      parts.rights?.check(caller, 'admin', request.namespace ?? '');
      return updateNamespaceCall(parts, request);
    }),
    bind('DescribeNamespace', (request: Request<'DescribeNamespace'>, caller) =>
      describeNamespace(parts, request, caller),
    ),
    bind('ListNamespaces', (request: Request<'ListNamespaces'>, caller) =>
      listNamespaces(parts, request, caller),
    ),
    bind('ListClusters', (request: Request<'ListClusters'>, caller) => {
      parts.rights?.check(caller, 'admin', '*');
      return listClusters(parts, request);
    }),
    ['Check', (request: Uint8Array) => healthCheckResponse(request, 'serving')],
  ]);
}

/** The codecs of the RPC of that name round what answers it. */
function bind<Message>(
  name: string,
  answer: (request: Message, caller: Credentials) => object | Promise<object>,
): [string, LocalCall] {
  const method = [...METHODS.values()].find((one) => one.name === name);
  invariant(method !== undefined, `no RPC is named ${name}`);
  const request = method.request as MessageType<Message>;
  return [
    name,
    (bytes, caller) => {
      const answered = answer(request.decode(bytes), caller);
      if (!(answered instanceof Promise)) return method.response.encode(answered);
      return answered.then((message) => method.response.encode(message));
    },
  ];
}

function clusterInfo({ map, config }: RouterParts): object {
  return {
    supportedClients: SUPPORTED_CLIENTS,
    serverVersion: config.serverVersion,
    clusterId: config.clusterName,
    clusterName: config.clusterName,
    versionInfo: { current: { version: config.serverVersion } },
    historyShardCount: Object.values(map.map.cells).reduce((sum, cell) => sum + cell.shards, 0),
  };
}

const MAX_CELLS = 1_000;

/** The cells of the fleet by name, paged; the page token is the last name of the page before. */
function listClusters({ map }: RouterParts, request: Request<'ListClusters'>): object {
  const after = Buffer.from(request.nextPageToken ?? []).toString('utf8');
  const rest = Object.entries(map.map.cells)
    .filter(([id]) => id > after)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const page = rest.slice(0, Math.min(request.pageSize || MAX_CELLS, MAX_CELLS));
  const last = page.at(-1)?.[0];
  const more = last !== undefined && rest.length > page.length;
  return {
    clusters: page.map(([id, { address, shards }]) => ({
      clusterName: id,
      clusterId: id,
      address,
      historyShardCount: shards,
      isConnectionEnabled: true,
    })),
    nextPageToken: more ? Buffer.from(last, 'utf8') : undefined,
  };
}

/** What tools check before they connect: every released major of the official clients. */
const SUPPORTED_CLIENTS = Object.fromEntries(
  ['cli', 'dotnet', 'go', 'java', 'php', 'python', 'ruby', 'typescript', 'ui'].map((one) => [
    `temporal-${one}`,
    '<10.0.0',
  ]),
);
