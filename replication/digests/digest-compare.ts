/**
 * Holds every execution of a namespace against another cell, at the same transition number (PROTOCOLS 10), and repairs by
 * image what differs.
 *
 * Invariants
 *  1. A run that moves is looked at again; it counts as different only if it differs at the same transition, or if the two
 *     sides stand still at different ones. Where the other side is behind, a lane may be bringing it: all looks are taken,
 *     further and further apart.
 *  2. A difference that was repaired is looked at again before it counts as repaired.
 *  3. Memory is bounded by some pages, whatever the number of runs; at most `MAX_LISTED` differences are listed, all are counted.
 */
import type { RunRef } from '../../cell/shard/engine.ts';
import type { Replicas, RunDigest } from '../../cell/shard/replicas.ts';
import type { Seq, ShardId } from '../../cell/storage/shard-log.ts';
import { sleep, type Clock } from '../../kernel/clock.ts';
import type { ReplicationConfig } from '../config.ts';
import type { DigestDifference, VerifyReport } from '../control/control.ts';
import { compareDigests, type DigestVerdict } from './digest-verdict.ts';
import type { ReplicaPeer } from '../peer.ts';
import { encodeImage } from '../step-codec.ts';

export type ComparerParts = {
  readonly replicas: Replicas;
  readonly peer: ReplicaPeer;
  readonly clock: Clock;
  readonly config: ReplicationConfig;
};

export type CompareAsk = {
  readonly namespaceId: string;
  readonly repair: boolean;
  /** Read all that is stored instead of what is kept incrementally. */
  readonly recompute: boolean;
};

/** Differences that a report lists. */
const MAX_LISTED = 100;
const SHARDS_AT_ONCE = 4;

type Tally = { -readonly [Key in keyof VerifyReport]: VerifyReport[Key] } & {
  different: DigestDifference[];
};
type Looked = RunRef & { readonly verdict: DigestVerdict };

export class DigestComparer {
  readonly #parts: ComparerParts;
  readonly #ask: CompareAsk;
  readonly #tally: Tally = {
    compared: 0,
    equal: 0,
    different: [],
    differences: 0,
    moving: 0,
    repaired: 0,
  };

  constructor(ask: CompareAsk, parts: ComparerParts) {
    this.#ask = ask;
    this.#parts = parts;
  }

  /** Compares all. One call per comparer. */
  async run(signal: AbortSignal): Promise<VerifyReport> {
    await this.#compareOurs(signal);
    await this.#findExtra(signal);
    return this.#tally;
  }

  /** Some shards at a time: a page waits for its moving runs, and calls are held while a handover compares. */
  async #compareOurs(signal: AbortSignal): Promise<void> {
    const { shardCount } = this.#parts.replicas;
    let next = 0;
    const lane = async () => {
      while (next < shardCount) {
        const shard = next as ShardId;
        next += 1;
        await this.#compareShard(shard, signal);
      }
    };
    await Promise.all(Array.from({ length: Math.min(shardCount, SHARDS_AT_ONCE) }, lane));
  }

  async #compareShard(shard: ShardId, signal: AbortSignal): Promise<void> {
    const { replicas, config } = this.#parts;
    const ask = { shard, namespaceId: this.#ask.namespaceId, afterSeq: 0 as Seq };
    let after: string | undefined;
    do {
      const page = await replicas.runsOf(ask, { after, limit: config.copyPageRuns }, signal);
      await this.#comparePage(page.runs, signal);
      after = page.next;
    } while (after !== undefined);
  }

  async #comparePage(runs: readonly RunRef[], signal: AbortSignal): Promise<void> {
    const looked = await this.#settled(runs, signal);
    // Gone on both sides since the page was read: nothing to compare.
    const there = looked.filter(({ verdict }) => verdict !== 'gone');
    this.#tally.compared += there.length;
    this.#tally.equal += there.filter(({ verdict }) => verdict === 'equal').length;
    this.#tally.moving += there.filter(({ verdict }) => verdict === 'moving').length;
    const different = there.filter(({ verdict }) => isDifference(verdict));
    this.#report(different);
    if (this.#ask.repair && different.length > 0) await this.#repair(different, signal);
  }

  /** Looks until nothing of the page is undecided, or often enough. */
  async #settled(runs: readonly RunRef[], signal: AbortSignal): Promise<readonly Looked[]> {
    const { clock, config } = this.#parts;
    const done: Looked[] = [];
    let open = runs;
    let before = new Map<string, readonly [mine: number, theirs: number]>();
    for (let look = 1; open.length > 0; look += 1) {
      const pairs = await this.#pairs(open, signal);
      const isLast = look >= config.compareLooks;
      const seen = new Map<string, readonly [number, number]>();
      const again: RunRef[] = [];
      for (const { run, mine, theirs } of pairs) {
        const at = [mine?.transition ?? 0, theirs?.transition ?? 0] as const;
        const known = before.get(run.runId);
        const stands = known?.[0] === at[0] && known[1] === at[1];
        const verdict = compareDigests(mine, theirs, { stands });
        seen.set(run.runId, at);
        // A difference may be a step that is on its way: it must show twice, and where the other side is behind, to the end.
        const isBehind = at[1] < at[0];
        const isSure = verdict === 'equal' || (stands && verdict !== 'moving' && !isBehind);
        if (isSure) done.push({ ...run, verdict });
        else if (isLast) done.push({ ...run, verdict: isBehind && !stands ? 'moving' : verdict });
        else again.push(run);
      }
      open = again;
      before = seen;
      if (open.length > 0) await sleep(clock, config.compareAgainMs * 2 ** (look - 1), signal);
    }
    return done;
  }

  async #pairs(runs: readonly RunRef[], signal: AbortSignal): Promise<readonly Pair[]> {
    const { replicas, peer } = this.#parts;
    const { namespaceId, recompute } = this.#ask;
    const mine = await replicas.digests(runs, { recompute }, signal);
    const theirs = await peer.digests({ namespaceId, runs, recompute }, signal);
    return runs.map((run, i) => ({ run, mine: mine[i], theirs: theirs[i] }));
  }

  /** Runs that only the other cell has. */
  async #findExtra(signal: AbortSignal): Promise<void> {
    const { peer, config } = this.#parts;
    const { namespaceId } = this.#ask;
    let shards = 1;
    for (let shard = 0; shard < shards; shard += 1) {
      let after: string | undefined;
      do {
        const ask = { namespaceId, shard, after, limit: config.copyPageRuns };
        const page = await peer.runs(ask, signal);
        shards = page.shards;
        await this.#extraOf(page.runs, signal);
        after = page.next;
      } while (after !== undefined);
    }
  }

  async #extraOf(runs: readonly RunRef[], signal: AbortSignal): Promise<void> {
    const mine = await this.#parts.replicas.digests(runs, { recompute: false }, signal);
    const unknown = runs.filter((_, i) => mine[i] === undefined);
    if (unknown.length === 0) return;
    const extra = (await this.#settled(unknown, signal)).filter(
      ({ verdict }) => verdict === 'extra',
    );
    this.#tally.compared += extra.length;
    this.#report(extra);
  }

  /** Sends the images of what is different, and looks again. */
  async #repair(different: readonly Looked[], signal: AbortSignal): Promise<void> {
    const { replicas, peer, config } = this.#parts;
    const { namespaceId } = this.#ask;
    for (let i = 0; i < different.length; i += config.imageBatch) {
      const batch = different.slice(i, i + config.imageBatch);
      const images = await Promise.all(batch.map((run) => replicas.image(refOf(run), signal)));
      await peer.pushImages({ namespaceId, images: images.map(encodeImage), repair: true }, signal);
    }
    const looked = await this.#settled(different.map(refOf), signal);
    this.#tally.repaired += looked.filter(({ verdict }) => verdict === 'equal').length;
  }

  #report(different: readonly Looked[]): void {
    this.#tally.differences += different.length;
    for (const { workflowId, runId, verdict } of different) {
      if (this.#tally.different.length >= MAX_LISTED || !isDifference(verdict)) return;
      this.#tally.different.push({ workflowId, runId, what: verdict });
    }
  }
}

type Pair = {
  readonly run: RunRef;
  readonly mine: RunDigest | undefined;
  readonly theirs: RunDigest | undefined;
};

function refOf({ namespaceId, workflowId, runId }: RunRef): RunRef {
  return { namespaceId, workflowId, runId };
}

function isDifference(verdict: DigestVerdict): verdict is DigestDifference['what'] {
  return verdict !== 'equal' && verdict !== 'moving' && verdict !== 'gone';
}
