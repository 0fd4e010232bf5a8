/**
 * Mends at another cell what a comparison found different there (PROTOCOLS 10): sends it the images of this cell's runs, and
 * has it remove the runs that this cell does not have.
 *
 * Place: digest-compare.ts asks for it once a difference is sure, and looks at what was mended again.
 *
 * Invariants
 *  1. Every image and every removal names what was accused; the other cell does nothing if it has something else by now.
 *  2. A run that cannot be read here, or mended there, holds up no other: it comes back with the reason.
 *  3. What rejects is the whole repair: the other cell is away, or serves none of it.
 */
import { isDamage } from '../../cell/shard/damage.ts';
import type { RunRef } from '../../cell/shard/engine.ts';
import type { ApplyOutcome, Replicas, RunDigest } from '../../cell/shard/replicas/replicas.ts';
import { toAtollError } from '../../kernel/errors.ts';
import { unfitReason } from '../lanes/push-images.ts';
import type { ReplicaPeer } from '../peer.ts';
import { encodeImage } from '../step-codec.ts';

/** A run, and what the other cell has of it; undefined: nothing. */
export type Accused = { readonly run: RunRef; readonly theirs: RunDigest | undefined };

/** A run that was not mended, and why. */
export type NotMended = { readonly runId: string; readonly why: string };

/** What is sent for a run. */
type Mending<Sent> = { readonly runId: string; readonly sent: Sent };

export type RepairParts = {
  readonly namespaceId: string;
  readonly replicas: Replicas;
  readonly peer: ReplicaPeer;
  readonly batch: number;
};

/** Puts the runs of this cell in the place of what is different there. */
export async function replaceRuns(
  accused: readonly Accused[],
  parts: RepairParts,
  signal: AbortSignal,
): Promise<readonly NotMended[]> {
  const { namespaceId, peer, batch } = parts;
  const failed: NotMended[] = [];
  const push = (images: readonly Uint8Array[]) =>
    peer.pushImages({ namespaceId, images, repair: true }, signal);
  for (let i = 0; i < accused.length; i += batch) {
    const some = accused.slice(i, i + batch);
    const read = await Promise.all(some.map((one) => readImage(parts.replicas, one, signal)));
    failed.push(...read.flatMap((one) => ('why' in one ? [one] : [])));
    const images = read.flatMap((one) => ('why' in one ? [] : [one]));
    failed.push(...(await mend(images, push)));
  }
  return failed;
}

/** Takes runs away there that this cell does not have. */
export async function removeRuns(
  accused: readonly Accused[],
  parts: RepairParts,
  signal: AbortSignal,
): Promise<readonly NotMended[]> {
  const { namespaceId, peer, batch } = parts;
  const there = accused.flatMap(({ theirs }) =>
    theirs ? [{ runId: theirs.runId, sent: theirs }] : [],
  );
  const failed: NotMended[] = [];
  const remove = (runs: readonly RunDigest[]) => peer.remove({ namespaceId, runs }, signal);
  for (let i = 0; i < there.length; i += batch) {
    failed.push(...(await mend(there.slice(i, i + batch), remove)));
  }
  return failed;
}

/** Makes one call for all; where that breaks on what it brings, one for each. */
async function mend<Sent>(
  some: readonly Mending<Sent>[],
  call: (sent: readonly Sent[]) => Promise<readonly ApplyOutcome[]>,
): Promise<readonly NotMended[]> {
  if (some.length === 0) return [];
  try {
    const outcomes = await call(some.map(({ sent }) => sent));
    return some.flatMap(({ runId }, i) => {
      const outcome = outcomes[i];
      const why = outcome && unfitReason(outcome);
      return why === undefined ? [] : [{ runId, why }];
    });
  } catch (thrown) {
    if (!isDamage(thrown)) throw thrown;
    const [only] = some;
    if (only && some.length === 1) return [notMended(only, thrown)];
  }
  const failed: NotMended[] = [];
  for (const one of some) failed.push(...(await mend([one], call)));
  return failed;
}

/** @throws the signal's reason, once it has aborted */
async function readImage(
  replicas: Replicas,
  { run, theirs }: Accused,
  signal: AbortSignal,
): Promise<Mending<Uint8Array> | NotMended> {
  try {
    const image = await replicas.image(run, signal);
    const sent = encodeImage({ ...image, replaces: theirs ?? 'nothing' });
    return { runId: run.runId, sent };
  } catch (thrown) {
    signal.throwIfAborted();
    return notMended(run, thrown);
  }
}

function notMended({ runId }: { readonly runId: string }, thrown: unknown): NotMended {
  return { runId, why: toAtollError(thrown).message };
}
