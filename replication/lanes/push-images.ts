/**
 * Sends runs whole: after a gap or a divergence, in a copy, in a repair (PROTOCOLS 7).
 *
 * Invariants
 *  1. An image holds everything of its branch that was durable here before it was asked for, so it settles the steps of
 *     that branch up to its number.
 *  2. A run that is not here any more needs no image: its end travels by itself.
 */
import { toAtollError } from '../../kernel/errors.ts';
import { isDamage } from '../../cell/shard/damage.ts';
import { NO_LINEAGE, type Lineage } from '../../cell/history/lineage.ts';
import type { ApplyOutcome, RunImage } from '../../cell/shard/replicas/replicas.ts';
import { timed, type LaneParts } from './lane-parts.ts';
import { ENDLESS, sendImages, type Answer } from './send-images.ts';
import type { Patience } from './lane-state.ts';
import { settledOrOpen } from './settle-lost.ts';
import { encodeImage } from '../step-codec.ts';

export type RunName = { readonly workflowId: string; readonly runId: string };
export type SentImage = {
  readonly run: RunName;
  /** The transition that the image reached; none for a run that is gone here. */
  readonly upTo: number;
  /** Of the branch that the image is. */
  readonly lineage: Lineage;
  readonly outcome: ApplyOutcome;
  /** Where it is `later`: when the run is to be parked. */
  readonly patience: Patience;
};

/** Why the run is not whole at the target now; undefined when it is, or its branch lost there. */
export function unfitReason(outcome: ApplyOutcome): string | undefined {
  switch (outcome.kind) {
    case 'applied':
    case 'known':
    case 'lost':
      return undefined;
    case 'gap':
    case 'diverged':
    case 'undecided':
      return `the target answered ${outcome.kind} to an image`;
    case 'later':
    case 'refused':
      return outcome.reason;
  }
}

/**
 * Outcomes in the order of `runs`; `undecided`: somebody else is still to decide, try again later. `repair`: those that end where
 * their image ends may be damaged there.
 */
export async function pushImages(
  parts: LaneParts,
  runs: readonly RunName[],
  { repair }: { readonly repair: boolean },
): Promise<readonly SentImage[]> {
  const { config, quota, clock, metrics } = parts;
  const fetched = await Promise.all(runs.map((run) => fetchImage(parts, run)));
  const fit = fetched.filter((one) => one.bytes !== undefined);
  const images = fit.flatMap(({ bytes }) => bytes ?? []);
  if (images.length > 0) quota.spend(images.length * config.imageItems, clock.monotonicMs());
  const answers = [...(await sendImages(parts, images, { repair }))];
  metrics.images.inc(images.length);
  metrics.imageBytes.inc(images.reduce((sum, { length }) => sum + length, 0));
  for (const [i, { image }] of fit.entries()) {
    if (answers[i]?.outcome.kind !== 'undecided' || image === undefined) continue;
    const elsewhere = await settledOrOpen(parts, (replicas, s) =>
      replicas.adopt(image, { repair: false }, s),
    );
    if (elsewhere === 'settled') answers[i] = { outcome: { kind: 'lost' }, patience: ENDLESS };
  }
  const byRun = new Map(fit.map(({ run }, i) => [run.runId, answers[i]]));
  return fetched.map(({ run, upTo, image, outcome }) => ({
    run,
    upTo,
    lineage: image?.state.lineage ?? NO_LINEAGE,
    ...(outcome ? { outcome, patience: ENDLESS } : (byRun.get(run.runId) ?? unanswered())),
  }));
}

type Fetched = {
  readonly run: RunName;
  readonly upTo: number;
  readonly bytes?: Uint8Array;
  readonly image?: RunImage;
  /** Known without asking. */
  readonly outcome?: ApplyOutcome;
};

async function fetchImage(parts: LaneParts, run: RunName): Promise<Fetched> {
  const { namespaceId } = parts.state.key;
  const { workflowId, runId } = run;
  try {
    const image = await timed(parts, 'reading the state of a run', (signal) =>
      parts.replicas.image({ namespaceId, workflowId, runId }, signal),
    );
    const bytes = encodeImage(image);
    const upTo = image.state.transition;
    const limit = parts.config.imageMaxBytes;
    if (bytes.length <= limit) return { run, upTo, bytes, image };
    const reason = `the run's image has ${bytes.length} bytes, more than ${limit} (imageMaxBytes)`;
    return { run, upTo, outcome: { kind: 'refused', reason } };
  } catch (error) {
    const { code, message } = toAtollError(error);
    if (code === 'not-found') {
      return { run, upTo: Number.MAX_SAFE_INTEGER, outcome: { kind: 'known' } };
    }
    // What cannot be read here stops nothing else.
    if (isDamage(error)) return { run, upTo: 0, outcome: { kind: 'refused', reason: message } };
    parts.signal.throwIfAborted();
    return { run, upTo: 0, outcome: { kind: 'later', reason: message } };
  }
}

function unanswered(): Answer {
  const reason = 'the target gave no answer for this image';
  return { outcome: { kind: 'refused', reason }, patience: ENDLESS };
}
