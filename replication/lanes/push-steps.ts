/**
 * One push of a lane, and what its answers mean (PROTOCOLS 7).
 *
 * Invariants
 *  1. A step counts as acknowledged only by an answer of the target, or by a durable dead letter.
 *  2. After `gap` or `diverged` the run's later steps wait for its image.
 *  3. A step that somebody else is to decide of postpones its own run alone; if it is of the branch that leads here, its
 *     run goes whole instead.
 *  4. A step that the target cannot take for now postpones its own run alone, which is parked when that lasts.
 *  5. A push that is refused as a whole for what is in it is cut down to single steps; a single one that goes on being
 *     refused is dead-lettered, so that it stops its own run alone.
 */
import { AtollError, toAtollError, type ErrorCode } from '../../kernel/errors.ts';
import type { ApplyOutcome } from '../../cell/shard/replicas/replicas.ts';
import { backlogOf } from './lane-backlog.ts';
import type { LaneEntry } from './lane-queue.ts';
import { callTarget, type LaneParts } from './lane-parts.ts';
import { parkAfter, parkRun } from './park-run.ts';
import { settledOrOpen } from './settle-lost.ts';
import { decodeReplicatedStep } from '../step-codec.ts';

/** Errors that may be the fault of what was sent. */
const SUSPECT: ReadonlySet<ErrorCode> = new Set(['invalid-argument', 'internal', 'data-loss']);
const SUSPICIONS = 3;

/** How many steps the next push may have, and how often a single one was refused. */
export type PushSize = { limit: number; suspicions: number };

/** Sends what is ready. False when nothing is, or the quota is used up. @throws what the call threw: to be tried again */
export async function pushSteps(parts: LaneParts, size: PushSize): Promise<boolean> {
  const { state, config, quota, clock, metrics } = parts;
  const { queue } = state;
  const nowMs = clock.monotonicMs();
  const items = Math.min(config.pushItems, size.limit, quota.available(nowMs));
  if (items === 0 || !queue.hasReady) return false;
  const entries = queue.take({ items, bytes: config.pushBytes });
  if (entries.length === 0) return false;
  const [first] = entries;
  if (first !== undefined && first.bytes.length > config.stepMaxBytes) {
    // Too large for a call: the run goes whole, in parts.
    queue.hold(first);
    queue.giveBack();
    return true;
  }
  const steps = entries.map(({ bytes }) => bytes);
  const push = { ...backlogOf(state, entries.length), steps };
  state.told = push.pending;
  quota.spend(steps.length, nowMs);
  metrics.pushes.inc();
  metrics.pushBytes.inc(steps.reduce((sum, { length }) => sum + length, 0));
  try {
    const outcomes = await callTarget(parts, { what: 'pushing steps' }, (peer, s) =>
      peer.pushSteps(push, s),
    );
    if (outcomes.length !== entries.length) {
      throw new AtollError('internal', `${entries.length} steps, ${outcomes.length} answers`);
    }
    size.limit = Math.min(config.pushItems, size.limit * 2);
    size.suspicions = 0;
    await settle(parts, entries, outcomes);
    queue.landed();
  } catch (error) {
    await suspect(parts, { size, entries, error });
    queue.giveBack();
    throw error;
  }
  return true;
}

/** A step, and why it was not applied. */
type Told = { readonly entry: LaneEntry; readonly reason: string };

async function settle(
  parts: LaneParts,
  entries: readonly LaneEntry[],
  outcomes: readonly ApplyOutcome[],
): Promise<void> {
  const { state } = parts;
  const { queue, parked } = state;
  const unfit: Told[] = [];
  const later: Told[] = [];
  const undecided: LaneEntry[] = [];
  for (const [i, entry] of entries.entries()) {
    const outcome = outcomes[i];
    if (outcome === undefined) continue;
    parts.metrics.steps[outcome.kind].inc();
    switch (outcome.kind) {
      case 'applied':
      case 'known':
      case 'lost':
        queue.settle(entry);
        state.taken(entry.runId);
        break;
      case 'gap':
      case 'diverged':
        if (!unfit.some((one) => one.entry.runId === entry.runId)) queue.hold(entry);
        break;
      case 'undecided':
        undecided.push(entry);
        break;
      case 'later':
        later.push({ entry, reason: outcome.reason });
        break;
      case 'refused':
        unfit.push({ entry, reason: outcome.reason });
        break;
    }
  }
  for (const one of unfit) {
    if (!parked.has(one.entry.runId)) await parkRun(parts, { ...one.entry, reason: one.reason });
  }
  await settleUndecided(parts, undecided);
  await postponeLater(parts, later);
}

/** Behind the first step of a run that the target cannot take for now its others wait, too. */
async function postponeLater(parts: LaneParts, told: readonly Told[]): Promise<void> {
  const tried = new Set<string>();
  for (const { entry, reason } of told) {
    const { runId } = entry;
    if (!tried.has(runId)) {
      await parkAfter(
        parts,
        { ...entry, reason },
        { tries: parts.config.laterTries, always: false },
      );
    }
    tried.add(runId);
    // What is parked is pending no more.
    parts.state.queue.postpone(entry);
  }
}

/** In the order of each run: behind one that is not settled nothing is tried. */
async function settleUndecided(parts: LaneParts, entries: readonly LaneEntry[]): Promise<void> {
  const { queue } = parts.state;
  const open = new Set<string>();
  for (const entry of entries) {
    if (open.has(entry.runId)) {
      queue.postpone(entry);
      continue;
    }
    const step = decodeReplicatedStep(entry.bytes);
    const elsewhere = await settledOrOpen(parts, async (replicas, signal) => {
      const [outcome] = await replicas.apply([step], signal);
      return outcome;
    });
    if (elsewhere !== 'settled') open.add(entry.runId);
    switch (elsewhere) {
      case 'settled':
        queue.settle(entry);
        break;
      case 'ours':
        // A later step may be of an epoch that wins there, and would wait behind this one for ever.
        queue.hold(entry);
        break;
      case 'open':
        queue.postpone(entry);
        break;
    }
  }
}

async function suspect(
  parts: LaneParts,
  failed: { size: PushSize; entries: readonly LaneEntry[]; error: unknown },
): Promise<void> {
  const { size, entries } = failed;
  const error = toAtollError(failed.error);
  if (!SUSPECT.has(error.code)) return;
  if (entries.length > 1) {
    size.limit = 1;
    return;
  }
  size.suspicions += 1;
  const [entry] = entries;
  if (size.suspicions < SUSPICIONS || entry === undefined) return;
  size.suspicions = 0;
  await parkRun(parts, { ...entry, reason: error.message });
}
