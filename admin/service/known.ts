/** Finds what a request names, in a map that is looked at again when it lacks it. */
import type { FleetMap, Namespace } from '../../fleet/map.ts';
import type { Move } from '../../fleet/move.ts';
import type { Change } from '../../fleet/table.ts';
import { withDeadline } from '../../kernel/deadline.ts';
import { AtollError, toAtollError } from '../../kernel/errors.ts';
import type { Answer } from '../moves/facts.ts';
import { ADMIN_DEADLINES, type AdminPorts } from './ports.ts';

/** @throws AtollError `invalid-argument` for an empty name, `not-found` for an unknown one */
export async function namespaceNamed(ports: AdminPorts, name = ''): Promise<Namespace> {
  if (name === '') throw new AtollError('invalid-argument', 'Name the namespace.');
  // What an admin sees decides what an admin does: never an old map.
  await ports.map.refresh();
  const namespace = ports.map.namespaceByName(name);
  if (namespace !== undefined) return namespace;
  throw new AtollError(
    'not-found',
    `Namespace ${name} is not in the fleet map: atoll namespace list shows those that are.`,
  );
}

/** The move of that id; without one the newest. @throws AtollError `not-found` */
export function moveNamed(namespace: Namespace, id = ''): Move {
  const moves = namespace.moves ?? [];
  const move = id === '' ? moves.at(-1) : moves.find((one) => one.id === id);
  if (move !== undefined) return move;
  const { name } = namespace;
  const message =
    id === ''
      ? `Namespace ${name} has never moved: start a move with atoll move start ${name} --to CELL.`
      : `Namespace ${name} has no move ${id}: atoll namespace describe ${name} shows its moves.`;
  throw new AtollError('not-found', message);
}

/** The cell, which keeps a copy beside the active one. @throws AtollError `failed-precondition` */
export function copyNamed({ name, placement }: Namespace, cell: string): string {
  const { active, replicas } = placement;
  const copies = replicas.filter((one) => one !== active);
  if (copies.includes(cell)) return cell;
  const why =
    cell === active
      ? `Namespace ${name} is active in ${cell} already`
      : `Cell ${cell} keeps no copy of namespace ${name}`;
  const what =
    copies.length === 0
      ? `give it a replica first (atoll namespace update ${name} --replicas …)`
      : `choose one that keeps a copy (${copies.join(', ')})`;
  throw new AtollError('failed-precondition', `${why}: ${what}.`);
}

/** Makes the change durable and gives the namespace as it is then. */
export async function changeMap(
  ports: AdminPorts,
  namespaceId: string,
  change: (map: FleetMap) => Change,
): Promise<Namespace> {
  const deadline = { what: 'changing the fleet map', timeoutMs: ADMIN_DEADLINES.mapMs };
  const map = await withDeadline(ports.clock, deadline, (signal) =>
    ports.map.update(change, signal),
  );
  const namespace = map.namespaces[namespaceId];
  if (namespace !== undefined) return namespace;
  throw new AtollError('not-found', `Namespace ${namespaceId} is not in the fleet map.`);
}

/** What a cell says, in time; a failure is an answer, too. */
export async function askCell<Value>(
  { clock }: AdminPorts,
  what: string,
  call: (signal: AbortSignal) => Promise<Value>,
): Promise<Answer<Value>> {
  try {
    const deadline = { what, timeoutMs: ADMIN_DEADLINES.cellMs };
    return { kind: 'answered', value: await withDeadline(clock, deadline, call) };
  } catch (thrown) {
    const { code, message } = toAtollError(thrown);
    return { kind: 'failed', code, message };
  }
}
