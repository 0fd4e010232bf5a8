/** Register, update, describe and list namespaces: the fleet map in the contract's words. */
import { withDeadline } from '../kernel/deadline.ts';
import { AtollError } from '../kernel/errors.ts';
import type { FleetMap, Namespace } from '../fleet/map.ts';
import { namespaceMessage } from '../fleet/namespace-message.ts';
import { updateNamespace } from '../fleet/namespace-update.ts';
import type { Credentials } from '../fleet/rights.ts';
import { namespaceByName, registerNamespace, type Change } from '../fleet/table.ts';
import { ArchivalState, NamespaceState } from '../wire/enums.ts';
import { namespaceNotFound } from '../wire/failures.ts';
import type { Request } from '../wire/services.ts';
import { durationMs } from '../wire/time.ts';
import type { RouterParts } from './parts.ts';
import { placeNamespace, REGION_KEY } from './placement.ts';

const DEFAULT_PAGE = 100;
const MAX_PAGE = 1_000;
/** Registers, placed by placement.ts. Answers once the map is durable. */
export async function registerNamespaceCall(
  parts: RouterParts,
  request: Request<'RegisterNamespace'>,
): Promise<object> {
  const archival = [request.historyArchivalState, request.visibilityArchivalState];
  if (archival.some((state) => state === ArchivalState.Enabled)) {
    throw new AtollError(
      'unimplemented',
      'Atoll does not archive yet: register the namespace without archival.',
    );
  }
  const asked = {
    id: parts.rng.uuid(),
    name: request.namespace ?? '',
    description: request.description ?? '',
    ownerEmail: request.ownerEmail ?? '',
    data: texts(request.data),
    retentionMs: durationMs(request.workflowExecutionRetentionPeriod),
    registeredAt: parts.clock.now(),
  };
  const register = (map: FleetMap): Change => {
    const placed = placeNamespace(map, {
      cell: request.activeClusterName ?? '',
      region: asked.data[REGION_KEY] ?? '',
      defaultRegion: parts.config.defaultRegion,
    });
    return placed.kind === 'refused'
      ? placed
      : registerNamespace(map, { ...asked, cell: placed.cell });
  };
  const deadline = { what: `registering ${asked.name}`, timeoutMs: parts.config.mapUpdateMs };
  await withDeadline(parts.clock, deadline, (signal) => parts.map.update(register, signal));
  return {};
}

/** Changes what a namespace says of itself. Answers once the map is durable. */
export async function updateNamespaceCall(
  parts: RouterParts,
  request: Request<'UpdateNamespace'>,
): Promise<object> {
  const { namespace: name = '', updateInfo, config, replicationConfig } = request;
  refuseUnserved(request);
  const retention = config?.workflowExecutionRetentionTtl;
  const update = {
    name,
    description: updateInfo?.description || undefined,
    ownerEmail: updateInfo?.ownerEmail || undefined,
    data: texts(updateInfo?.data),
    retentionMs: retention === undefined ? undefined : durationMs(retention),
  };
  const active = replicationConfig?.activeClusterName ?? '';
  const change = (map: FleetMap): Change => {
    const known = namespaceByName(map, name);
    const moves = known !== undefined && wouldMove(map, known, { cell: active, ...update });
    return moves ? cannotMove(known) : updateNamespace(map, update);
  };
  const deadline = { what: `updating ${name}`, timeoutMs: parts.config.mapUpdateMs };
  const map = await withDeadline(parts.clock, deadline, (signal) =>
    parts.map.update(change, signal),
  );
  const updated = namespaceByName(map, name);
  if (updated === undefined) throw namespaceNotFound(name);
  return namespaceMessage(updated);
}

/** Whether the update asks for another cell, or for a region that its cell does not lie in. */
function wouldMove(
  map: FleetMap,
  { placement, data: before }: Namespace,
  asked: { readonly cell: string; readonly data: Readonly<Record<string, string>> },
): boolean {
  if (asked.cell !== '' && asked.cell !== placement.active) return true;
  const region = asked.data[REGION_KEY];
  if (region === undefined || region === before[REGION_KEY]) return false;
  return region !== map.cells[placement.active]?.region;
}

function cannotMove({ name, placement }: Namespace): Change {
  const message = `Namespace ${name} is active in ${placement.active}: move it with atoll move start ${name} --to CELL.`;
  return { kind: 'refused', code: 'unimplemented', message };
}

/** Says so, rather than leave out a part of what was asked. */
function refuseUnserved({ updateInfo, config, ...request }: Request<'UpdateNamespace'>): void {
  const archival = [config?.historyArchivalState, config?.visibilityArchivalState];
  const state = updateInfo?.state ?? NamespaceState.Unspecified;
  const asked = [
    [archival.some((one) => one === ArchivalState.Enabled), 'archival'],
    [state !== NamespaceState.Unspecified && state !== NamespaceState.Registered, 'another state'],
    [config?.badBinaries?.binaries !== undefined, 'bad binaries'],
    [(request.deleteBadBinary ?? '') !== '', 'bad binaries'],
  ] as const;
  const what = asked.find(([is]) => is)?.[1];
  if (what === undefined) return;
  throw new AtollError('unimplemented', `Atoll does not have ${what} for namespaces yet.`);
}

/** By id if one is given, else by name. One that is not known is looked up in the store: it may be new. */
export async function describeNamespace(
  { map, rights }: RouterParts,
  request: Request<'DescribeNamespace'>,
  caller: Credentials,
): Promise<object> {
  const { id = '', namespace: name = '' } = request;
  if (id === '' && name === '') {
    throw new AtollError(
      'invalid-argument',
      'Namespace is not set on the request: set its name or its id.',
    );
  }
  // Before it is looked for, so that nobody learns which names there are. An id is a name that nobody is given.
  if (id === '') rights?.check(caller, 'read', name);
  const find = () => (id === '' ? map.namespaceByName(name) : map.namespaceById(id));
  let found = find();
  if (found === undefined) {
    await map.refresh();
    found = find();
  }
  if (id !== '') rights?.check(caller, 'read', found?.name ?? '');
  if (found === undefined) throw namespaceNotFound(id === '' ? name : id);
  return namespaceMessage(found);
}

/** Those that the caller may read, by name, paged; the page token is the last name of the page before. */
export function listNamespaces(
  { map, rights }: RouterParts,
  request: Request<'ListNamespaces'>,
  caller: Credentials,
): object {
  const after = Buffer.from(request.nextPageToken ?? []).toString('utf8');
  const size = Math.min(request.pageSize || DEFAULT_PAGE, MAX_PAGE);
  const withDeleted = request.namespaceFilter?.includeDeleted === true;
  const rest = Object.values(map.map.namespaces)
    .filter((one) => (withDeleted || one.state !== 'deleted') && sortKey(one) > after)
    .filter((one) => rights?.allows(caller, 'read', one.name) ?? true)
    .sort((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1));
  const page = rest.slice(0, size);
  const last = page.at(-1);
  const more = last !== undefined && rest.length > page.length;
  return {
    namespaces: page.map(namespaceMessage),
    nextPageToken: more ? Buffer.from(sortKey(last), 'utf8') : undefined,
  };
}

/** Names repeat among deleted namespaces, so the id decides. */
function sortKey(namespace: Namespace): string {
  return `${namespace.name}\n${namespace.id}`;
}

function texts(map: Readonly<Record<string, string | undefined>> | undefined) {
  return Object.fromEntries(Object.entries(map ?? {}).map(([key, value]) => [key, value ?? '']));
}
