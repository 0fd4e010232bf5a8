/**
 * Carries images to the target: small ones together, each large one in a call of its own, with the time that its bytes need
 * (PROTOCOLS 7).
 *
 * Place: push-images.ts reads the runs and says what the answers mean.
 *
 * Invariants
 *  1. What becomes of a large image is its own outcome: no other waits for it.
 *  2. A call that breaks on what it brings is made again image by image, so that one of them stops its own run alone.
 *  3. A target that is away stops the call of the small ones, and parks nothing.
 */
import { isDamage } from '../../cell/shard/damage.ts';
import type { ApplyOutcome } from '../../cell/shard/replicas/replicas.ts';
import { toAtollError } from '../../kernel/errors.ts';
import { imagesMs } from '../config.ts';
import { callTarget, type LaneParts } from './lane-parts.ts';
import type { Patience } from './lane-state.ts';

/** Of a run that is not parked, however often it is tried in vain. */
export const ENDLESS: Patience = { tries: Number.MAX_SAFE_INTEGER, always: false };

export type Answer = {
  readonly outcome: ApplyOutcome;
  /** Where it is `later`: when the run is to be parked. */
  readonly patience: Patience;
};

type Repair = { readonly repair: boolean };

/** In the order of `images`. @throws what the call of the small ones threw: to be tried again */
export async function sendImages(
  parts: LaneParts,
  images: readonly Uint8Array[],
  { repair }: Repair,
): Promise<readonly (Answer | undefined)[]> {
  const isSmall = ({ length }: Uint8Array) => length <= parts.config.imagePartBytes;
  const together = await sendSmall(parts, images.filter(isSmall), { repair });
  const answers: (Answer | undefined)[] = [];
  let next = 0;
  for (const image of images) {
    if (isSmall(image)) {
      answers.push(together[next]);
      next += 1;
    } else answers.push(await sendLarge(parts, image, { repair }));
  }
  return answers;
}

async function sendSmall(
  parts: LaneParts,
  images: readonly Uint8Array[],
  { repair }: Repair,
): Promise<readonly Answer[]> {
  if (images.length === 0) return [];
  try {
    const outcomes = await call(parts, images, { repair });
    return outcomes.map((outcome) => told(parts, outcome));
  } catch (error) {
    parts.signal.throwIfAborted();
    if (!isDamage(error)) throw error;
    if (images.length === 1) return [failed(parts, error)];
  }
  const answers: Answer[] = [];
  for (const image of images) answers.push(...(await sendSmall(parts, [image], { repair })));
  return answers;
}

async function sendLarge(parts: LaneParts, image: Uint8Array, { repair }: Repair): Promise<Answer> {
  try {
    const [outcome] = await call(parts, [image], { repair });
    return outcome ? told(parts, outcome) : failed(parts, 'no answer');
  } catch (error) {
    parts.signal.throwIfAborted();
    return failed(parts, error);
  }
}

function told({ config }: LaneParts, outcome: ApplyOutcome): Answer {
  return { outcome, patience: { tries: config.laterTries, always: false } };
}

/** A full try counts: the call broke on what it brought, or had all the time that it needs. */
function failed({ config, metrics }: LaneParts, error: unknown): Answer {
  const { code, message } = toAtollError(error);
  metrics.pushFailures.inc();
  const isFull = isDamage(error) || code === 'deadline-exceeded';
  return {
    outcome: { kind: 'later', reason: message },
    patience: isFull ? { tries: config.imageTries, always: true } : ENDLESS,
  };
}

function call(
  parts: LaneParts,
  images: readonly Uint8Array[],
  { repair }: Repair,
): Promise<readonly ApplyOutcome[]> {
  const { namespaceId } = parts.state.key;
  const bytes = images.reduce((sum, { length }) => sum + length, 0);
  const options = { what: 'pushing images', timeoutMs: imagesMs(bytes, parts.config) };
  return callTarget(parts, options, (peer, signal) =>
    peer.pushImages({ namespaceId, images, repair }, signal),
  );
}
