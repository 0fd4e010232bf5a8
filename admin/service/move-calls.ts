/** Planned moves: plan, start, status, verify, confirm, abort, back. What is started is driven by orchestrators. */
import { endMove, startMove } from '../../fleet/move-changes.ts';
import type { Namespace } from '../../fleet/map.ts';
import { settledMove } from '../../fleet/move.ts';
import { withDeadline } from '../../kernel/deadline.ts';
import { AtollError } from '../../kernel/errors.ts';
import type { AdminRequest, AdminResponse, LaneMessage } from '../../wire/atoll/admin.ts';
import { abortMove } from '../moves/abort.ts';
import { planMove, type MovePlan } from '../moves/plan.ts';
import { askCell, changeMap, copyNamed, moveNamed, namespaceNamed } from './known.ts';
import { laneMessage, moveMessage } from './messages.ts';
import { ADMIN_DEADLINES, type AdminPorts } from './ports.ts';

const DEFAULT_MAX_PAUSE_MS = 5_000;

export async function planMoveCall(
  ports: AdminPorts,
  request: AdminRequest<'PlanMove'>,
): Promise<AdminResponse<'PlanMove'>> {
  const namespace = await namespaceNamed(ports, request.namespace);
  const { plan, lane } = await planOf(ports, namespace, request.to ?? '');
  return { ...plan, lane };
}

export async function startMoveCall(
  ports: AdminPorts,
  request: AdminRequest<'StartMove'>,
): Promise<AdminResponse<'StartMove'>> {
  const namespace = await namespaceNamed(ports, request.namespace);
  const moveId = request.moveId || shortId(ports);
  const known = namespace.moves?.find((move) => move.id === moveId);
  // Sent again after its answer was lost.
  if (known !== undefined) return { move: moveMessage(known) };
  const { plan } = await planOf(ports, namespace, request.to ?? '');
  if (plan.blockers.length > 0) {
    const why = plan.blockers.map(({ says }) => says).join('; ');
    throw new AtollError('failed-precondition', `The move cannot start: ${why}.`);
  }
  const changed = await changeMap(ports, namespace.id, (map) =>
    startMove(map, {
      namespaceId: namespace.id,
      moveId,
      to: plan.to,
      at: ports.clock.now(),
      maxPauseMs: request.maxPauseMs || DEFAULT_MAX_PAUSE_MS,
      autoConfirm: request.autoConfirm ?? false,
    }),
  );
  return { move: moveMessage(moveNamed(changed, moveId)) };
}

export async function describeMove(
  ports: AdminPorts,
  request: AdminRequest<'DescribeMove'>,
): Promise<AdminResponse<'DescribeMove'>> {
  const namespace = await namespaceNamed(ports, request.namespace);
  const move = moveNamed(namespace, request.moveId);
  const { active, epoch } = namespace.placement;
  const ends = [
    { from: move.from, to: move.to },
    { from: move.to, to: move.from },
  ];
  const lanes = await Promise.all(ends.map((one) => laneOf(ports, namespace, one)));
  return { move: moveMessage(move), active, epoch, lanes: lanes.map(({ message }) => message) };
}

export async function verifyNamespace(
  ports: AdminPorts,
  request: AdminRequest<'VerifyNamespace'>,
): Promise<AdminResponse<'VerifyNamespace'>> {
  const namespace = await namespaceNamed(ports, request.namespace);
  const source = namespace.placement.active;
  const against = copyNamed(namespace, request.against || otherReplica(namespace));
  const { repair = false, stored = false } = request;
  const ask = { namespaceId: namespace.id, against, repair, stored };
  const deadline = { what: `verifying ${namespace.name}`, timeoutMs: ADMIN_DEADLINES.verifyMs };
  const report = await withDeadline(ports.clock, deadline, (signal) =>
    ports.cells.control(source).verify(ask, signal),
  );
  return { source, against, ...report };
}

export async function confirmMove(
  ports: AdminPorts,
  request: AdminRequest<'ConfirmMove'>,
): Promise<AdminResponse<'ConfirmMove'>> {
  const namespace = await namespaceNamed(ports, request.namespace);
  const id = request.moveId || settledMove(namespace)?.id;
  const ref = { namespaceId: namespace.id, moveId: moveNamed(namespace, id).id };
  if (moveNamed(namespace, id).phase !== 'settled') {
    const { phase, outcome = phase } = moveNamed(namespace, id);
    const message = `Move ${ref.moveId} is ${outcome}: only one that has moved and waits (settled) can be confirmed.`;
    throw new AtollError('failed-precondition', message);
  }
  const at = ports.clock.now();
  const changed = await changeMap(ports, namespace.id, (map) => endMove(map, { ...ref, at }));
  return { move: moveMessage(moveNamed(changed, ref.moveId)) };
}

export async function abortMoveCall(
  ports: AdminPorts,
  request: AdminRequest<'AbortMove'>,
): Promise<AdminResponse<'AbortMove'>> {
  const namespace = await namespaceNamed(ports, request.namespace);
  const { id: moveId } = moveNamed(namespace, request.moveId);
  const reason = request.reason || 'aborted by an operator';
  const asked = { namespaceId: namespace.id, moveId, at: ports.clock.now(), reason };
  const changed = await changeMap(ports, namespace.id, (map) => abortMove(map, asked));
  return { move: moveMessage(moveNamed(changed, moveId)) };
}

/** A move of its own in the other direction, which confirms itself: what it undoes was proven by the reverse lane. */
export async function backMove(
  ports: AdminPorts,
  request: AdminRequest<'BackMove'>,
): Promise<AdminResponse<'BackMove'>> {
  const namespace = await namespaceNamed(ports, request.namespace);
  const settled = moveNamed(namespace, request.moveId || settledMove(namespace)?.id);
  const moveId = request.newMoveId || shortId(ports);
  const changed = await changeMap(ports, namespace.id, (map) =>
    startMove(map, {
      namespaceId: namespace.id,
      moveId,
      to: settled.from,
      at: ports.clock.now(),
      maxPauseMs: request.maxPauseMs || settled.maxPauseMs || DEFAULT_MAX_PAUSE_MS,
      autoConfirm: true,
      backOf: settled.id,
    }),
  );
  return { move: moveMessage(moveNamed(changed, moveId)) };
}

async function planOf(
  ports: AdminPorts,
  namespace: Namespace,
  to: string,
): Promise<{ readonly plan: MovePlan; readonly lane: LaneMessage | undefined }> {
  if (to === '')
    throw new AtollError(
      'invalid-argument',
      'Name the cell to move to: --to CELL; atoll fleet show lists them.',
    );
  const { map } = ports.map;
  const from = namespace.placement.active;
  const [target, lane] = await Promise.all([
    askCell(ports, `cell ${to}`, (signal) =>
      ports.cells.control(to).estimateLoss({ namespaceId: namespace.id }, signal),
    ),
    laneOf(ports, namespace, { from, to }),
  ]);
  const plan = planMove({ map, namespace, to, target, lane: lane.answer });
  // Where no copy is kept there is no lane yet, and what a cell says of it is no trouble.
  const hasLane = from !== to && namespace.placement.replicas.includes(to);
  return { plan, lane: hasLane ? lane.message : undefined };
}

async function laneOf(
  ports: AdminPorts,
  namespace: Namespace,
  ends: { readonly from: string; readonly to: string },
) {
  const ask = { namespaceId: namespace.id, target: ends.to };
  const answer = await askCell(ports, `the lane from ${ends.from}`, (signal) =>
    ports.cells.control(ends.from).lane(ask, signal),
  );
  return { answer, message: laneMessage(ends, answer) };
}

function otherReplica({ name, placement }: Namespace): string {
  const other = placement.replicas.find((cell) => cell !== placement.active);
  if (other !== undefined) return other;
  throw new AtollError(
    'failed-precondition',
    `Namespace ${name} has no replica to compare with: give it one with atoll namespace update ${name} --replicas CELL.`,
  );
}

/** Short enough to be typed. */
function shortId({ rng }: AdminPorts): string {
  return rng.uuid().slice(0, 8);
}
