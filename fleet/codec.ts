/**
 * The fleet map as JSON text, for stores that keep bytes. Decoding checks what is read: a map of another format,
 * cut short or edited by hand into nonsense is refused with the reason, never half-used (D17).
 */
import { FLEET_MAP_FORMAT, type FleetMap } from './map.ts';
import { NEXT_PHASES } from './move.ts';

export type Decoded =
  | { readonly kind: 'map'; readonly map: FleetMap }
  | { readonly kind: 'corrupt'; readonly why: string };

/** What format 1 lacks may be absent in format 2, too: nothing needs to be made up. */
const READABLE_FORMATS: readonly unknown[] = [1, FLEET_MAP_FORMAT];

/** Indented, since people read it; ends with a newline, so that a cut-off file never parses by luck. */
export function encodeFleetMap(map: FleetMap): string {
  return `${JSON.stringify(map, null, 2)}\n`;
}

export function decodeFleetMap(text: string): Decoded {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return corrupt(error instanceof Error ? error.message : String(error));
  }
  const why = wrongMap(value);
  if (why !== undefined) return corrupt(why);
  return { kind: 'map', map: { ...(value as FleetMap), format: FLEET_MAP_FORMAT } };
}

function wrongMap(value: unknown): string | undefined {
  if (!isRecord(value)) return 'it is not a JSON object';
  if (!READABLE_FORMATS.includes(value['format'])) {
    return `its format is ${String(value['format'])} and this release reads ${READABLE_FORMATS.join(' and ')}`;
  }
  if (!isCount(value['revision'])) return 'revision is not a whole number';
  const { cells, namespaces } = value;
  if (!isRecord(cells) || !isRecord(namespaces)) return 'cells or namespaces are missing';
  for (const [id, cell] of Object.entries(cells)) {
    if (!isCell(cell)) return `cell ${id} is not valid`;
  }
  for (const [id, namespace] of Object.entries(namespaces)) {
    const wrong = wrongNamespace(id, namespace, cells);
    if (wrong !== undefined) return `namespace ${id}: ${wrong}`;
  }
  return undefined;
}

function isCell(cell: unknown): boolean {
  if (!isRecord(cell)) return false;
  const { region, address, shards, database = '' } = cell;
  return isText(region) && isText(address) && isCount(shards) && isText(database);
}

function wrongNamespace(id: string, value: unknown, cells: object): string | undefined {
  if (!isRecord(value)) return 'it is not an object';
  if (value['id'] !== id) return 'its id differs from its key';
  for (const field of ['name', 'description', 'ownerEmail']) {
    if (!isText(value[field])) return `${field} is not a string`;
  }
  for (const field of ['retentionMs', 'registeredAt']) {
    if (!isCount(value[field])) return `${field} is not a whole number`;
  }
  if (!['registered', 'deprecated', 'deleted'].includes(String(value['state'])))
    return 'state is unknown';
  if (!isRecord(value['data']) || !isRecord(value['customSearchAttributes'])) {
    return 'data or customSearchAttributes are missing';
  }
  return wrongPlacement(value['placement'], cells) ?? wrongMoves(value['moves'] ?? []);
}

/** As much as the changes of a move rest on; `replication` is what people write, and read with its defaults. */
function wrongMoves(moves: unknown): string | undefined {
  if (!Array.isArray(moves)) return 'moves is not a list';
  for (const move of moves as unknown[]) {
    if (!isRecord(move) || !isText(move['id'])) return 'a move has no id';
    const { id, phase, from, to, fromEpoch, driver } = move;
    if (!isText(phase) || !Object.hasOwn(NEXT_PHASES, phase)) return `move ${id}: unknown phase`;
    if (!isText(from) || !isText(to)) return `move ${id}: from or to is missing`;
    if (!isCount(fromEpoch)) return `move ${id}: fromEpoch is not a whole number`;
    if (driver !== undefined && !(isRecord(driver) && isCount(driver['beat'])))
      return `move ${id}: its driver has no beat`;
  }
  return undefined;
}

function wrongPlacement(value: unknown, cells: object): string | undefined {
  if (!isRecord(value)) return 'placement is missing';
  const { active, replicas, epoch, state, forcedEpoch } = value;
  if (!isText(active) || !Object.hasOwn(cells, active))
    return `active cell ${String(active)} is not in the map`;
  if (!Array.isArray(replicas) || !replicas.includes(active))
    return 'replicas lack the active cell';
  if (!isCount(epoch) || epoch < 1) return 'epoch is not a whole number from 1';
  if (forcedEpoch !== undefined && !isCount(forcedEpoch))
    return 'forcedEpoch is not a whole number';
  if (!isRecord(state) || (state['kind'] !== 'active' && state['kind'] !== 'handover')) {
    return 'placement state is unknown';
  }
  return undefined;
}

function corrupt(why: string): Decoded {
  return { kind: 'corrupt', why };
}
function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
function isText(value: unknown): value is string {
  return typeof value === 'string';
}
function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
