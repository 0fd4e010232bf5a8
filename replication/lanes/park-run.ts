/**
 * Parks a run that the target cannot take, and repairs it by its image later (PROTOCOLS 7, P9).
 *
 * Invariants
 *  1. The dead letter is durable before anything of the run counts as settled.
 *  2. Nothing else waits for a parked run.
 */
import { AtollError, toAtollError } from '../../kernel/errors.ts';
import type { LaneEntry } from './lane-queue.ts';
import { timed, type LaneParts } from './lane-parts.ts';
import type { ParkedRun, Patience } from './lane-state.ts';
import { pushImages, unfitReason } from './push-images.ts';

/** What could not be applied: a step, or with no bytes the run's image. */
export type Unfit = Pick<LaneEntry, 'workflowId' | 'runId' | 'number' | 'bytes'> & {
  readonly reason: string;
};

export async function parkRun(parts: LaneParts, unfit: Unfit): Promise<void> {
  const { state, deadLetters, clock, config, log } = parts;
  const { workflowId, runId, number, bytes, reason } = unfit;
  const known = state.parked.get(runId);
  if (known === undefined && state.parked.size >= config.parkedRuns) {
    throw new AtollError(
      'resource-exhausted',
      `the lane has ${state.parked.size} parked runs, its limit (parkedRuns): look at its dead letters, then let them be repaired`,
    );
  }
  const at = clock.now();
  const letter = { ...state.key, workflowId, runId, transition: number, at, reason, step: bytes };
  await timed(parts, 'keeping a dead letter', (signal) => deadLetters.add(letter, signal));
  const letters = (known?.letters ?? 0) + 1;
  const repairAt = at + config.repairAfterMs;
  state.parked.set(runId, { workflowId, runId, letters, repairs: 0, repairAt });
  state.queue.dropRun(runId);
  state.forgetTries(runId);
  parts.metrics.parked.inc();
  log.warn({ workflowId, runId, transition: number, reason }, 'A run is parked: not replicated.');
}

/** The target cannot take the run for now: parks it if that has lasted, and there is room for one more. False: not yet. */
export async function parkAfter(
  parts: LaneParts,
  unfit: Unfit,
  { tries, always }: Patience,
): Promise<boolean> {
  const { state, config } = parts;
  const isEnough = state.triedInVain(unfit.runId, { always }) >= tries;
  if (!isEnough || state.parked.size >= config.parkedRuns) return false;
  await parkRun(parts, unfit);
  return true;
}

/** When the next repair is due; undefined when nothing is parked. */
export function nextRepairAt(parts: LaneParts): number | undefined {
  return earliest(parts)?.repairAt;
}

/** Tries the run whose repair is due longest. False when none is due. */
export async function repairParked(parts: LaneParts): Promise<boolean> {
  const { state, clock, config, deadLetters, metrics } = parts;
  const run = earliest(parts);
  if (run === undefined || run.repairAt > clock.now()) return false;
  const pauseMs = Math.min(
    config.repairAfterMs * 2 ** Math.min(run.repairs, 20),
    config.repairMaxMs,
  );
  const later = { ...run, repairs: run.repairs + 1, repairAt: clock.now() + pauseMs };
  // From here on its steps are queued again: what commits after the image was taken must not be missed.
  state.parked.delete(run.runId);
  try {
    const [sent] = await pushImages(parts, [run], { repair: true });
    const reason = sent && unfitReason(sent.outcome);
    if (reason !== undefined) throw new AtollError('internal', reason);
    const done = { runId: run.runId, at: clock.now() };
    await timed(parts, 'closing a dead letter', (s) => deadLetters.repaired(state.key, done, s));
    metrics.repaired.inc();
  } catch (error) {
    state.parked.set(run.runId, later);
    state.queue.dropRun(run.runId);
    const fields = { runId: run.runId, error: toAtollError(error).message };
    parts.log.debug(fields, 'A parked run could not be repaired.');
  }
  return true;
}

function earliest({ state }: LaneParts): ParkedRun | undefined {
  let first: ParkedRun | undefined;
  for (const run of state.parked.values()) {
    if (first === undefined || run.repairAt < first.repairAt) first = run;
  }
  return first;
}
