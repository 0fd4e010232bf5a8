/** What a failover may lose, for a person who decides on it (D10). Pure. */
import type { AdminResponse, LossEstimateMessage } from '../../wire/atoll/admin.ts';
import { duration } from './text.ts';

/** A lane says something every second or so: whoever was heard within this time is probably alive. */
const HEARD_MS = 3_000;

type Ends = { readonly active: string; readonly to: string };

/** The span of writes that may be lost: what the source said it holds, and the time since it was heard. */
export function estimateText(namespace: string, loss: AdminResponse<'EstimateLoss'>): string {
  const { active = '', to = '', epoch = 0, estimates = [] } = loss;
  const of = estimates.find(({ source }) => source === active);
  const isHeard = of !== undefined && of.unheard !== true && (of.heardMsAgo ?? 0) <= HEARD_MS;
  const better = isHeard
    ? `${active} answers, it seems: a planned move loses nothing (atoll move start ${namespace} --to ${to}).\n`
    : '';
  return `${namespace}: ${active} → ${to}, epoch ${epoch} → ${epoch + 1}, without a handover.\n${known({ active, to }, of)}${better}`;
}

function known({ active, to }: Ends, of: LossEstimateMessage | undefined): string {
  if (of === undefined) {
    return `${to} has never heard of ${active}: how much is missing is not known.\n`;
  }
  const { heardMsAgo = 0, knownMissing = 0, lagMs = 0 } = of;
  if (of.unheard === true) {
    return `${to} has not heard of ${active} since it started ${duration(heardMsAgo)} ago: how much is missing is not known.\n`;
  }
  const heard = `${active} was last heard ${duration(heardMsAgo)} ago.`;
  if (of.copying === true) return `${heard} ${ofCopy({ active, to }, of)}`;
  return `${heard} Known to be missing at ${to}: ${knownMissing} transitions, the oldest ${duration(lagMs)} old.\n${mayBeLost(of)}`;
}

function ofCopy({ to }: Ends, of: LossEstimateMessage): string {
  const { knownMissing = 0, copied = 0, total = 0, since = 0 } = of;
  const from = since > 0 ? ` since ${new Date(since).toISOString()}` : '';
  const progress = `the replica is being copied (${copied} of about ${total} executions)`;
  const missing = `How much is missing at ${to} is not known: at least ${knownMissing} transitions or executions${from}, ${progress}.\n`;
  if (of.unseeded === true) {
    return `${missing}${to} never had a whole copy: what was not copied yet is not there.\n`;
  }
  return `${missing}${since > 0 ? mayBeLost(of) : ''}`;
}

function mayBeLost({ heardMsAgo = 0, lagMs = 0 }: LossEstimateMessage): string {
  return `Writes of about the last ${duration(heardMsAgo + lagMs)} may be lost.\n`;
}
