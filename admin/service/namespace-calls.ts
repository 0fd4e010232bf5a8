/** Namespaces and cells of the fleet: show, create and update. */
import { allOf } from '../../fleet/all-of.ts';
import { DEFAULT_REPLICATION, type FleetMap, type Replication } from '../../fleet/map.ts';
import { updateNamespace } from '../../fleet/namespace-update.ts';
import { setReplicas, setReplication } from '../../fleet/replicas.ts';
import { registerNamespace, type Change, type Registration } from '../../fleet/table.ts';
import { AtollError } from '../../kernel/errors.ts';
import type { AdminRequest, AdminResponse } from '../../wire/atoll/admin.ts';
import { changeMap, namespaceNamed } from './known.ts';
import { namespaceMessage } from './messages.ts';
import type { AdminPorts } from './ports.ts';

const DAY_MS = 86_400_000;

export async function describeFleet(ports: AdminPorts): Promise<AdminResponse<'DescribeFleet'>> {
  await ports.map.refresh();
  const { map } = ports.map;
  const cells = Object.entries(map.cells).map(([id, cell]) => ({ id, ...cell }));
  return { revision: map.revision, cells, namespaces: living(map) };
}

export async function listNamespaces(ports: AdminPorts): Promise<AdminResponse<'ListNamespaces'>> {
  await ports.map.refresh();
  return { namespaces: living(ports.map.map) };
}

export async function describeNamespace(
  ports: AdminPorts,
  { namespace }: AdminRequest<'DescribeNamespace'>,
): Promise<AdminResponse<'DescribeNamespace'>> {
  return { namespace: namespaceMessage(await namespaceNamed(ports, namespace)) };
}

/** `region` and `replicas` name regions or cells; in a region the cell with the fewest namespaces is taken. */
export async function createNamespace(
  ports: AdminPorts,
  request: AdminRequest<'CreateNamespace'>,
): Promise<AdminResponse<'CreateNamespace'>> {
  await ports.map.refresh();
  const { map } = ports.map;
  const cell = cellIn(map, request.region ?? '', []);
  const cells = [cell];
  for (const where of request.replicas ?? []) cells.push(cellIn(map, where, cells));
  const registration: Registration = {
    id: ports.rng.uuid(),
    name: request.name ?? '',
    description: request.description ?? '',
    ownerEmail: request.ownerEmail ?? '',
    data: {},
    retentionMs: request.retentionMs ?? 3 * DAY_MS,
    registeredAt: ports.clock.now(),
    cell,
    replicas: cells.slice(1),
    replication: replicationOf(request),
  };
  const made = await changeMap(ports, registration.id, (known) =>
    registerNamespace(known, registration),
  );
  return { namespace: namespaceMessage(made) };
}

/** What is named changes, the rest stays; all of it in one change of the map. */
export async function updateNamespaceCall(
  ports: AdminPorts,
  request: AdminRequest<'UpdateNamespace'>,
): Promise<AdminResponse<'UpdateNamespace'>> {
  const { id, name, placement, replication } = await namespaceNamed(ports, request.namespace);
  const { retentionMs, maxLagMs, replicas: asked = [] } = request;
  const [description, ownerEmail] = [request.description, request.ownerEmail].map(unlessEmpty);
  const replicas = replicasIn(ports.map.map, { active: placement.active, asked });
  const changes: ((map: FleetMap) => Change)[] = [
    (map) => updateNamespace(map, { name, description, ownerEmail, retentionMs }),
  ];
  if (asked.length > 0) changes.push((map) => setReplicas(map, { namespaceId: id, replicas }));
  if (maxLagMs !== undefined) {
    const next = { ...(replication ?? DEFAULT_REPLICATION), maxLagMs };
    changes.push((map) => setReplication(map, { namespaceId: id, replication: next }));
  }
  const changed = await changeMap(ports, id, (map) => allOf(map, changes));
  return { namespace: namespaceMessage(changed) };
}

/** Cells for what may be cells or regions: one each, none twice. The active cell stands for its own region. */
function replicasIn(
  map: FleetMap,
  { active, asked }: { readonly active: string; readonly asked: readonly string[] },
): readonly string[] {
  const cells = [active];
  for (const where of asked) {
    if (where === active || where === map.cells[active]?.region) continue;
    cells.push(cellIn(map, where, cells));
  }
  return cells;
}

function unlessEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

function replicationOf(request: AdminRequest<'CreateNamespace'>): Replication {
  // Another mode is refused by the fleet's own rules, which say why.
  const mode = (request.mode || 'available') as Replication['mode'];
  const { maxLagMs } = request;
  return { mode, policy: 'manual', ...(maxLagMs === undefined ? {} : { maxLagMs }) };
}

/** A cell by its id, or the least used of a region; without a name of any region. Never one of `taken`. */
function cellIn(map: FleetMap, where: string, taken: readonly string[]): string {
  if (map.cells[where] !== undefined) return where;
  const used = new Map<string, number>();
  for (const { placement } of Object.values(map.namespaces)) {
    used.set(placement.active, (used.get(placement.active) ?? 0) + 1);
  }
  const [best] = Object.entries(map.cells)
    .filter(([id, { region }]) => (where === '' || region === where) && !taken.includes(id))
    .map(([id]) => id)
    .toSorted((a, b) => (used.get(a) ?? 0) - (used.get(b) ?? 0) || a.localeCompare(b));
  if (best !== undefined) return best;
  throw new AtollError(
    'failed-precondition',
    `No cell is left ${where === '' ? 'in any region' : `that is named ${where} or lies in a region of that name`}: ${haveText(map)}.`,
  );
}

function haveText(map: FleetMap): string {
  const cells = Object.entries(map.cells).map(([id, { region }]) => `${id} (${region})`);
  if (cells.length === 0) return 'the fleet has no cell yet, start one with atoll cell';
  return `the fleet has ${cells.join(', ')}`;
}

function living(map: FleetMap) {
  return Object.values(map.namespaces)
    .filter(({ state }) => state !== 'deleted')
    .map(namespaceMessage);
}
