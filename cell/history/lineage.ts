/**
 * Lineages: the version history of a run (D9, PROTOCOLS 7, 9). By them a replica tells what it has, what it lacks, and
 * where two branches parted. Pure.
 *
 * Invariants
 *  1. Items ascend by epoch, transition and event; the last one is the state itself.
 *  2. An epoch has one writer, so two branches that share (transition, epoch) share all before it.
 */
import { AtollError } from '../../kernel/errors.ts';
import { invariant } from '../../kernel/invariant.ts';

/** The last transition, and the last event, that the branch has of this epoch. */
export type LineageItem = {
  readonly epoch: number;
  readonly transition: number;
  readonly eventId: number;
};
/** At most one item a failover or move of the namespace. */
export type Lineage = readonly LineageItem[];

export const NO_LINEAGE: Lineage = [];

/** The lineage after one more transition. */
export function extended(lineage: Lineage, item: LineageItem): Lineage {
  const last = lineage.at(-1);
  invariant(
    last === undefined || (item.epoch >= last.epoch && item.transition > last.transition),
    `lineage goes back: epoch ${item.epoch} transition ${item.transition} after ${last?.epoch}/${last?.transition}`,
  );
  return last?.epoch === item.epoch ? [...lineage.slice(0, -1), item] : [...lineage, item];
}

/** The epoch in which the branch made that transition; undefined for one that it has not. */
export function epochOf(lineage: Lineage, transition: number): number | undefined {
  if (transition < 1) return undefined;
  return lineage.find((item) => transition <= item.transition)?.epoch;
}

/** An event of a run, by which its branch is known: two that share (event, epoch) share all events before it. */
export type BranchPoint = { readonly eventId: number; readonly epoch: number };

/** The point at that event; undefined for one that the branch has not. */
export function pointAt(lineage: Lineage, eventId: number): BranchPoint | undefined {
  if (eventId < 1) return undefined;
  const item = lineage.find((each) => eventId <= each.eventId);
  return item && { eventId, epoch: item.epoch };
}

/** Whether the branch has that very event; two may have given one id to different ones. */
export function isOnBranch(lineage: Lineage, { eventId, epoch }: BranchPoint): boolean {
  return pointAt(lineage, eventId)?.epoch === epoch;
}

/**
 * For who goes on reading a history.
 * @param branch where the reader is; undefined: anywhere
 * @throws AtollError `invalid-argument` where the run has another branch by now
 */
export function assertOnBranch(
  run: { readonly runId: string; readonly lineage: Lineage },
  branch: BranchPoint | undefined,
): void {
  if (branch === undefined || isOnBranch(run.lineage, branch)) return;
  throw new AtollError(
    'invalid-argument',
    `the history of run ${run.runId} went on otherwise after a failover: event ${branch.eventId} is another one now, or gone; read it from its first event`,
  );
}

/** The last transition and event that both branches have; zeros when they share nothing. */
export function commonAncestor(a: Lineage, b: Lineage): LineageItem {
  let common: LineageItem = { epoch: 0, transition: 0, eventId: 0 };
  for (const item of a) {
    const other = b.find(({ epoch }) => epoch === item.epoch);
    if (!other) break;
    common = item.transition <= other.transition ? item : other;
    if (item.transition !== other.transition) break;
  }
  return common;
}

/** How an incoming transition stands to what a replica has. */
export type Standing =
  | { readonly kind: 'known' }
  | { readonly kind: 'next' }
  /** Transitions between are missing. */
  | { readonly kind: 'gap' }
  /** Another branch than ours, which ends in a larger epoch: it wins. */
  | { readonly kind: 'wins' }
  /** Another branch than ours, and ours wins. */
  | { readonly kind: 'loses' };

export function standingOf(
  lineage: Lineage,
  step: {
    readonly number: number;
    readonly epoch: number;
    readonly previousEpoch?: number | undefined;
  },
): Standing {
  const { number, epoch, previousEpoch = epoch } = step;
  const end = lineage.at(-1);
  const last = end?.transition ?? 0;
  if (epochOf(lineage, number) === epoch) return { kind: 'known' };
  if (number > last + 1) {
    // Whether it is our branch shows only in what lies between; an epoch below ours cannot be its continuation.
    return { kind: end !== undefined && epoch < end.epoch ? 'loses' : 'gap' };
  }
  if (number === last + 1 && (end === undefined || previousEpoch === end.epoch)) {
    return { kind: 'next' };
  }
  return { kind: epoch > (end?.epoch ?? 0) ? 'wins' : 'loses' };
}

/** How the branch that an image ends stands to what a replica has. */
export function standingOfBranch(
  lineage: Lineage,
  incoming: Lineage,
):
  | { readonly kind: 'known' }
  | { readonly kind: 'continues'; readonly after: LineageItem }
  | { readonly kind: 'wins'; readonly ancestor: LineageItem }
  | { readonly kind: 'loses'; readonly ancestor: LineageItem } {
  const ancestor = commonAncestor(lineage, incoming);
  const ours = lineage.at(-1);
  const theirs = incoming.at(-1);
  if (theirs === undefined || ancestor.transition === theirs.transition) return { kind: 'known' };
  if (ours === undefined || ancestor.transition === ours.transition)
    return { kind: 'continues', after: ancestor };
  return { kind: theirs.epoch > ours.epoch ? 'wins' : 'loses', ancestor };
}
