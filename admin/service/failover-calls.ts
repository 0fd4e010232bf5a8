/** Forced failover: what it would lose, and the switch. What it did lose: loss-report-call.ts. */
import { failOver } from '../../fleet/failover.ts';
import type { Namespace } from '../../fleet/map.ts';
import { withDeadline } from '../../kernel/deadline.ts';
import { AtollError } from '../../kernel/errors.ts';
import type { AdminRequest, AdminResponse } from '../../wire/atoll/admin.ts';
import { changeMap, copyNamed, moveNamed, namespaceNamed } from './known.ts';
import { moveMessage } from './messages.ts';
import { ADMIN_DEADLINES, type AdminPorts } from './ports.ts';

export async function estimateLoss(
  ports: AdminPorts,
  request: AdminRequest<'EstimateLoss'>,
): Promise<AdminResponse<'EstimateLoss'>> {
  const namespace = await namespaceNamed(ports, request.namespace);
  const { active, epoch } = namespace.placement;
  const to = copyNamed(namespace, targetOf(namespace, request.to));
  const deadline = { what: `cell ${to}`, timeoutMs: ADMIN_DEADLINES.cellMs };
  const estimates = await withDeadline(ports.clock, deadline, (signal) =>
    ports.cells.control(to).estimateLoss({ namespaceId: namespace.id }, signal),
  );
  return { active, to, epoch, estimates };
}

/** Answers once the map is durable; the orchestrator here tells the cells at once. */
export async function failOverCall(
  ports: AdminPorts,
  request: AdminRequest<'FailOver'>,
): Promise<AdminResponse<'FailOver'>> {
  const namespace = await namespaceNamed(ports, request.namespace);
  if (request.epoch === undefined) {
    const message = 'Say the epoch that you have looked at (EstimateLoss tells it).';
    throw new AtollError('invalid-argument', message);
  }
  const asked = {
    namespaceId: namespace.id,
    moveId: request.moveId || ports.rng.uuid().slice(0, 8),
    to: targetOf(namespace, request.to),
    epoch: request.epoch,
    at: ports.clock.now(),
    driver: ports.driverId,
    reason: request.reason || 'commanded by an operator',
  };
  const changed = await changeMap(ports, namespace.id, (map) => failOver(map, asked));
  ports.log.warn(
    { namespace: namespace.name, to: asked.to, epoch: asked.epoch + 1 },
    'a failover was commanded',
  );
  return { move: moveMessage(moveNamed(changed, asked.moveId)) };
}

/** The cell asked for, or the only other replica. */
function targetOf({ name, placement }: Namespace, to = ''): string {
  if (to !== '') return to;
  const others = placement.replicas.filter((cell) => cell !== placement.active);
  const [only] = others;
  if (only !== undefined && others.length === 1) return only;
  const message =
    others.length === 0
      ? `Namespace ${name} has no replica to fail over to: bring cell ${placement.active} back, and give it one then (atoll namespace update ${name} --replicas …).`
      : `Namespace ${name} has several replicas: choose one with --to (${others.join(', ')}).`;
  throw new AtollError('failed-precondition', message);
}
