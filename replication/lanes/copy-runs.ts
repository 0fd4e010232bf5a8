/**
 * The copy of a lane: page by page the runs of a shard that changed after its position, those whose digests differ sent
 * whole (PROTOCOLS 7, 10).
 *
 * Invariants
 *  1. A page counts only once every run of it is there, found equal, or parked.
 *  2. The copy of an empty namespace ends only once the target has answered.
 *  3. A call asks for `copyPageRuns` digests at most: a page is longer where many runs are in no view yet.
 */
import type { RunRef } from '../../cell/shard/engine.ts';
import type { RunDigest } from '../../cell/shard/replicas/replicas.ts';
import { needsImage } from './copy-needs.ts';
import { callTarget, timed, type LaneParts } from './lane-parts.ts';
import { parkAfter, parkRun } from './park-run.ts';
import { pushImages, unfitReason } from './push-images.ts';

const NO_BYTES = new Uint8Array(0);

/**
 * `undecided`: of a run of the page somebody else is still to decide, or the target cannot take it for now; the page is tried
 * again later.
 */
export type Copied = 'nothing to copy' | 'page' | 'undecided';

/** Sends the next page. */
export async function copyPage(parts: LaneParts): Promise<Copied> {
  const { state, replicas, config } = parts;
  const { namespaceId } = state.key;
  const next = state.nextCopy();
  if (next === undefined) return 'nothing to copy';
  const { shard, cursor } = next;
  const ask = { shard, namespaceId, afterSeq: cursor.since };
  const page = { limit: config.copyPageRuns, after: cursor.round?.next };
  const found = await timed(parts, 'reading the runs of a shard', (signal) =>
    replicas.runsOf(ask, page, signal),
  );
  if (found.runs.length === 0) await proveOnce(parts);
  let isDecided = true;
  for (let i = 0; i < found.runs.length; i += config.copyPageRuns) {
    const some = found.runs.slice(i, i + config.copyPageRuns);
    isDecided = (await copySome(parts, some)) && isDecided;
  }
  if (!isDecided) return 'undecided';
  state.copiedPage(shard, { of: cursor, runs: found.runs.length, next: found.next });
  return 'page';
}

/** Where nothing is to be asked the target is asked all the same, once: a lane is not proven by what it did not send. */
async function proveOnce(parts: LaneParts): Promise<void> {
  const { namespaceId } = parts.state.key;
  if (parts.state.heardMs !== undefined) return;
  await callTarget(parts, { what: 'asking for nothing' }, (peer, signal) =>
    peer.digests({ namespaceId, runs: [], recompute: false }, signal),
  );
}

/** False while one of them is open. */
async function copySome(parts: LaneParts, runs: readonly RunRef[]): Promise<boolean> {
  const { imageBatch } = parts.config;
  const missing = await missingOf(parts, runs);
  let isDecided = true;
  for (let i = 0; i < missing.length; i += imageBatch) {
    isDecided = (await sendBatch(parts, missing.slice(i, i + imageBatch))) && isDecided;
  }
  return isDecided;
}

async function missingOf(parts: LaneParts, all: readonly RunRef[]): Promise<readonly RunRef[]> {
  const { namespaceId } = parts.state.key;
  const runs = all.filter(({ runId }) => !parts.state.parked.has(runId));
  if (runs.length === 0) return [];
  const mine = await timed(parts, 'reading digests', (signal) =>
    parts.replicas.digests(runs, { recompute: false }, signal),
  );
  const theirs = await callTarget(parts, { what: 'asking for digests' }, (peer, signal) =>
    peer.digests({ namespaceId, runs, recompute: false }, signal),
  );
  return runs.filter((_, i) => differs(mine[i], theirs[i]));
}

function differs(mine: RunDigest | undefined, theirs: RunDigest | undefined): boolean {
  // A run that went away since the page was read needs nothing.
  return mine !== undefined && needsImage(mine, theirs);
}

/** False while one of them is open. */
async function sendBatch(parts: LaneParts, runs: readonly RunRef[]): Promise<boolean> {
  const { state, config } = parts;
  let isDecided = true;
  for (const { run, upTo, outcome, patience } of await pushImages(parts, runs, { repair: true })) {
    const reason = unfitReason(outcome);
    if (outcome.kind === 'undecided') isDecided = false;
    else if (reason === undefined) state.taken(run.runId);
    else {
      const unfit = { ...run, number: upTo, bytes: NO_BYTES, reason };
      // The target has just told the digests of the page: it is there.
      const tries = Math.min(patience.tries, config.copyTries);
      if (outcome.kind !== 'later') await parkRun(parts, unfit);
      else if (!(await parkAfter(parts, unfit, { tries, always: true }))) {
        isDecided = false;
      }
    }
  }
  return isDecided;
}
