/**
 * Mends at another cell what a comparison found different there (PROTOCOLS 10): sends it the images of this cell's runs, and
 * has it remove the runs that this cell does not have.
 *
 * Place: digest-compare.ts asks for it once a difference is sure, and looks at what was mended again.
 *
 * Invariants
 *  1. Every image and every removal names what was accused; the other cell does nothing if it has something else by now.
 *  2. A run that cannot be read here mends nothing there, and holds up no other.
 */
import { isDamage } from '../../cell/shard/damage.ts';
import type { RunRef } from '../../cell/shard/engine.ts';
import type { Replicas, RunDigest, RunImage } from '../../cell/shard/replicas/replicas.ts';
import type { ReplicaPeer } from '../peer.ts';
import { encodeImage } from '../step-codec.ts';

/** A run, and what the other cell has of it; undefined: nothing. */
export type Accused = { readonly run: RunRef; readonly theirs: RunDigest | undefined };

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
): Promise<void> {
  const { namespaceId, replicas, peer, batch } = parts;
  for (let i = 0; i < accused.length; i += batch) {
    const read = accused.slice(i, i + batch).map(async ({ run, theirs }) => {
      const image = await readableImage(replicas, run, signal);
      return image && encodeImage({ ...image, replaces: theirs ?? 'nothing' });
    });
    const images = (await Promise.all(read)).filter((one) => one !== undefined);
    if (images.length > 0) await peer.pushImages({ namespaceId, images, repair: true }, signal);
  }
}

/** Takes runs away there that this cell does not have. */
export async function removeRuns(
  accused: readonly Accused[],
  parts: RepairParts,
  signal: AbortSignal,
): Promise<void> {
  const { namespaceId, peer, batch } = parts;
  const there = accused.flatMap(({ theirs }) => (theirs ? [theirs] : []));
  for (let i = 0; i < there.length; i += batch) {
    await peer.remove({ namespaceId, runs: there.slice(i, i + batch) }, signal);
  }
}

async function readableImage(
  replicas: Replicas,
  run: RunRef,
  signal: AbortSignal,
): Promise<RunImage | undefined> {
  try {
    return await replicas.image(run, signal);
  } catch (thrown) {
    if (isDamage(thrown)) return undefined;
    throw thrown;
  }
}
