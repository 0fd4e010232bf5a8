/** Forced failover: what it would lose, and the switch. What it did lose: loss-report-call.ts. */
import { failOver } from '../../fleet/failover.ts';
import type { Namespace } from '../../fleet/map.ts';
import { withDeadline } from '../../kernel/deadline.ts';
import { AtollError, toAtollError } from '../../kernel/errors.ts';
import type { LossEstimate } from '../../replication/control/control.ts';
import type { AdminRequest, AdminResponse } from '../../wire/atoll/admin.ts';
import { changeMap, copyNamed, moveNamed, namespaceNamed } from './known.ts';
import { estimateMessage, moveMessage } from './messages.ts';
import { ADMIN_DEADLINES, type AdminPorts } from './ports.ts';

export async function estimateLoss(
  ports: AdminPorts,
  request: AdminRequest<'EstimateLoss'>,
): Promise<AdminResponse<'EstimateLoss'>> {
  const namespace = await namespaceNamed(ports, request.namespace);
  const { active, epoch } = namespace.placement;
  const to = copyNamed(namespace, targetOf(namespace, request.to));
  const estimates = await estimatesOf(ports, namespace, to);
  const refusal = whyIncomplete(namespace, { to, estimates });
  return { active, to, epoch, estimates: estimates.map(estimateMessage), refusal };
}

/**
 * Answers once the map is durable; the orchestrator here tells the cells at once.
 * @throws AtollError `failed-precondition` for a target that never had a whole copy, unless the request says `incomplete`
 */
export async function failOverCall(
  ports: AdminPorts,
  request: AdminRequest<'FailOver'>,
): Promise<AdminResponse<'FailOver'>> {
  const namespace = await namespaceNamed(ports, request.namespace);
  if (request.epoch === undefined) {
    const message = 'Say the epoch that you have looked at (EstimateLoss tells it).';
    throw new AtollError('invalid-argument', message);
  }
  const to = targetOf(namespace, request.to);
  if (request.incomplete !== true) await assertWhole(ports, namespace, to);
  const asked = {
    namespaceId: namespace.id,
    moveId: request.moveId || ports.rng.uuid().slice(0, 8),
    to,
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

function estimatesOf(
  ports: AdminPorts,
  namespace: Namespace,
  to: string,
): Promise<readonly LossEstimate[]> {
  const deadline = { what: `cell ${to}`, timeoutMs: ADMIN_DEADLINES.cellMs };
  return withDeadline(ports.clock, deadline, (signal) =>
    ports.cells.control(to).estimateLoss({ namespaceId: namespace.id }, signal),
  );
}

/** Only what the target knows can be held against it: what is wrong with the failover besides, the map says. */
async function assertWhole(ports: AdminPorts, namespace: Namespace, to: string): Promise<void> {
  const { active, replicas } = namespace.placement;
  if (to === active || !replicas.includes(to)) return;
  const estimates = await estimatesOf(ports, namespace, to).catch((error: unknown) => {
    const fields = { namespace: namespace.name, to, error: toAtollError(error).message };
    ports.log.warn(fields, 'The target of a failover does not say how much is missing there.');
    return [];
  });
  const why = whyIncomplete(namespace, { to, estimates });
  if (why !== undefined) throw new AtollError('failed-precondition', why);
}

/** Why the target is no whole copy, and what to do; undefined: it was one once, or nobody knows better. Pure. */
export function whyIncomplete(
  { name, placement }: Namespace,
  { to, estimates }: { readonly to: string; readonly estimates: readonly LossEstimate[] },
): string | undefined {
  const { active } = placement;
  const copy = estimates.find(({ source }) => source === active)?.copy;
  if (copy === undefined || copy.seeded) return undefined;
  const { copied, total } = copy;
  return `Cell ${to} never had a whole copy of ${name}: ${copied} of about ${total} executions were copied. Bring cell ${active} back and let the copy end; or give --incomplete: what was not copied is then missing until ${active} is back.`;
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
