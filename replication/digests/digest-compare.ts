/**
 * Holds the executions of a namespace against another cell, at the same transition number (PROTOCOLS 10), and repairs what
 * differs (repair-runs.ts): all of them, or those that may have changed since a comparison that is known.
 *
 * Invariants
 *  1. A run that moves is looked at again before it is said to differ (run-looker.ts).
 *  2. A difference that was repaired is looked at again before it counts as repaired.
 *  3. Memory is bounded by some pages and `MAX_OPEN` runs, whatever the number of runs; at most `MAX_LISTED` differences are
 *     listed, all are counted.
 *  4. What is left out was found equal by the comparison that is known, and has not changed here since; the other cell changes
 *     a run only by what changed here.
 *  5. What this cell's own store has lost is never sent, and nothing is removed at the other cell once something is known to be
 *     lost here: it may have the last copy.
 *  6. A report is word of the other cell, too: where nothing has changed it is asked all the same. A handover rests on it, and
 *     would go to a cell that has just died.
 */
import type { RunRef } from '../../cell/shard/engine.ts';
import type { Seq, ShardId } from '../../cell/storage/shard-log.ts';
import type { DigestDifference, VerifyReport } from '../control/control.ts';
import type { DigestVerdict } from './digest-verdict.ts';
import { removeRuns, replaceRuns, type NotMended } from './repair-runs.ts';
import { RunLooker, type ComparerParts, type Looked, type OpenRun } from './run-looker.ts';

export type CompareAsk = {
  readonly namespaceId: string;
  readonly repair: boolean;
  /** Read all that is stored instead of what is kept incrementally. */
  readonly recompute: boolean;
  /** Only what changed since this comparison, and what was not equal in it. Runs that only the other cell has are not sought. */
  readonly known?: Compared | undefined;
  /** `one`: what is not equal at once is called moving, without waiting. */
  readonly looks?: 'one' | 'all' | undefined;
};

/** Differences that a report lists. */
const MAX_LISTED = 100;
/** Pages under way; while a handover compares, calls are held. */
const CHUNKS_AT_ONCE = 4;
/** Runs that wait for another look, or that are not equal and remembered. */
const MAX_OPEN = 2_000;
/** Why a run that only memory holds here is a difference. */
const UNSTORED_HERE =
  "the active cell's database lacks rows of it: a restart of that cell would lose it";
/** Why an extra run was left where it is. */
const KEPT = "it is kept there, since the active cell's database has lost rows of runs";
/** What is still different after a repair is mended again: where a pointer could not be read, its ledger shows only then. */
const REPAIRS = 3;

type Tally = { -readonly [Key in keyof VerifyReport]: VerifyReport[Key] } & {
  different: DigestDifference[];
};

/**
 * What a comparison leaves behind: every run that has not changed since these rows of the log, and is not among the unequal
 * ones, was found equal. A run that changes does so by a row of its own shard.
 */
export type Compared = {
  readonly since: ReadonlyMap<ShardId, Seq>;
  readonly unequal: readonly RunRef[];
};

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
  readonly #looker: RunLooker;
  readonly #since = new Map<ShardId, Seq>();
  readonly #open: OpenRun[] = [];
  readonly #unequal: RunRef[] = [];
  /** Runs that only the other cell has are being sought. */
  #seeksExtra = false;
  /** A run was seen to be lost here. */
  #hasLost = false;

  constructor(ask: CompareAsk, parts: ComparerParts) {
    this.#ask = ask;
    this.#parts = parts;
    this.#looker = new RunLooker(ask, parts);
  }

  /** One call per comparer. */
  async run(signal: AbortSignal): Promise<VerifyReport> {
    await this.#lookAtOurs(signal);
    await this.#settleOpen(signal);
    if (this.#ask.known === undefined) await this.#findExtra(signal);
    else if (this.#tally.compared === 0) await this.#hearOther(signal);
    return this.#tally;
  }

  /** What the next comparison may rest on; undefined: nothing, since too much is not equal. */
  get compared(): Compared | undefined {
    if (this.#unequal.length > MAX_OPEN) return undefined;
    return { since: this.#since, unequal: this.#unequal };
  }

  async #hearOther(signal: AbortSignal): Promise<void> {
    const { namespaceId, recompute } = this.#ask;
    await this.#parts.peer.digests({ namespaceId, runs: [], recompute }, signal);
  }

  async #lookAtOurs(signal: AbortSignal): Promise<void> {
    const chunks = this.#chunks(signal);
    const lane = async () => {
      for (;;) {
        const { value: chunk, done } = await chunks.next();
        if (done === true) return;
        await this.#lookAt(chunk, signal);
      }
    };
    await Promise.all(Array.from({ length: CHUNKS_AT_ONCE }, lane));
  }

  async #lookAt(runs: readonly RunRef[], signal: AbortSignal): Promise<void> {
    const { done, open } = await this.#looker.look(
      runs.map((run) => ({ run })),
      signal,
    );
    await this.#conclude(done, signal);
    this.#open.push(...open);
    if (this.#open.length >= MAX_OPEN) await this.#settleOpen(signal);
  }

  /** Those that were not equal at once, all together. */
  async #settleOpen(signal: AbortSignal): Promise<void> {
    const open = this.#open.splice(0);
    if (this.#ask.looks === 'one') {
      this.#tally.compared += open.length;
      this.#tally.moving += open.length;
      this.#remember(open);
      return;
    }
    await this.#conclude(await this.#looker.settle(open, signal), signal);
  }

  async #conclude(looked: readonly Looked[], signal: AbortSignal): Promise<void> {
    // Gone on both sides since its page was read: nothing to compare.
    const there = looked.filter(({ verdict }) => verdict !== 'gone');
    this.#tally.compared += there.length;
    this.#tally.equal += there.filter(({ verdict }) => verdict === 'equal').length;
    this.#tally.moving += there.filter(({ verdict }) => verdict === 'moving').length;
    this.#remember(there.filter(({ verdict }) => verdict !== 'equal'));
    await this.#found(
      there.filter(({ verdict }) => isDifference(verdict)),
      signal,
    );
  }

  async #found(different: readonly Looked[], signal: AbortSignal): Promise<void> {
    this.#report(different);
    if (this.#ask.repair && different.length > 0) await this.#repair(different, signal);
  }

  #remember(unequal: readonly OpenRun[]): void {
    if (this.#unequal.length > MAX_OPEN) return;
    this.#unequal.push(...unequal.map(({ run }) => run));
  }

  /** The runs to look at, a page at a time, whichever shard they are of. */
  async *#chunks(signal: AbortSignal): AsyncGenerator<readonly RunRef[], undefined> {
    const { replicas, config } = this.#parts;
    const chunk = [...(this.#ask.known?.unequal ?? [])];
    for (let shard = 0; shard < replicas.shardCount; shard += 1) {
      for await (const runs of this.#runsOf(shard as ShardId, signal)) {
        chunk.push(...runs);
        while (chunk.length >= config.copyPageRuns) yield chunk.splice(0, config.copyPageRuns);
      }
    }
    if (chunk.length > 0) yield chunk;
    return undefined;
  }

  /** Each once: what comes with the first page may come again. */
  async *#runsOf(shard: ShardId, signal: AbortSignal): AsyncGenerator<readonly RunRef[]> {
    const { replicas, config } = this.#parts;
    const { namespaceId, known, recompute } = this.#ask;
    const afterSeq = known?.since.get(shard) ?? (0 as Seq);
    // What the store has lost is listed by memory alone.
    const ask = { shard, namespaceId, afterSeq, held: recompute };
    const first = new Set<string>();
    let after: string | undefined;
    do {
      const page = await replicas.runsOf(ask, { after, limit: config.copyPageRuns }, signal);
      if (after === undefined) this.#since.set(shard, page.asOf);
      const fresh = page.runs.filter(({ runId }) => !first.has(runId));
      if (after === undefined) {
        const byId = new Map(fresh.map((run) => [run.runId, run]));
        for (const runId of byId.keys()) first.add(runId);
        yield [...byId.values()];
      } else yield fresh;
      after = page.next;
    } while (after !== undefined);
  }

  /** Runs that only the other cell has. */
  async #findExtra(signal: AbortSignal): Promise<void> {
    const { peer, config } = this.#parts;
    const { namespaceId } = this.#ask;
    this.#seeksExtra = true;
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
    const unknown = await this.#parts.replicas.missing(runs, signal);
    if (unknown.length === 0) return;
    const looked = await this.#settled(unknown, signal);
    const extra = looked.filter(({ verdict }) => verdict === 'extra');
    this.#tally.compared += extra.length;
    this.#remember(extra);
    await this.#found(extra, signal);
  }

  async #settled(runs: readonly RunRef[], signal: AbortSignal): Promise<readonly Looked[]> {
    const { done, open } = await this.#looker.look(
      runs.map((run) => ({ run })),
      signal,
    );
    return [...done, ...(await this.#looker.settle(open, signal))];
  }

  /** Mends what is different, and looks again. */
  async #repair(different: readonly Looked[], signal: AbortSignal): Promise<void> {
    const { config, ...parts } = this.#parts;
    const { namespaceId } = this.#ask;
    const kept = this.#hasLost ? different.filter(isExtra) : [];
    this.#explain(
      kept,
      kept.map(({ run }) => ({ runId: run.runId, why: KEPT })),
    );
    let open = different.filter((one) => isMendable(one) && !kept.includes(one));
    for (let repair = 1; open.length > 0 && repair <= REPAIRS; repair += 1) {
      const mending = { ...parts, namespaceId, batch: config.imageBatch };
      const failed = [
        ...(await replaceRuns(
          open.filter((one) => !isExtra(one)),
          mending,
          signal,
        )),
        ...(await removeRuns(open.filter(isExtra), mending, signal)),
      ];
      const looked = await this.#settled(
        open.map(({ run }) => run),
        signal,
      );
      this.#tally.repaired += looked.filter(({ verdict }) => isMended(verdict)).length;
      open = looked.filter(isMendable);
      this.#explain(open, failed);
    }
  }

  /** Says of those that are different still why the last repair did not mend them. */
  #explain(open: readonly Looked[], failed: readonly NotMended[]): void {
    const whys = new Map(failed.map(({ runId, why }) => [runId, why]));
    const isOpen = new Set(open.map(({ run }) => run.runId));
    this.#tally.different = this.#tally.different.map((one) => {
      const why = whys.get(one.runId);
      return why === undefined || !isOpen.has(one.runId) ? one : { ...one, why };
    });
  }

  #report(different: readonly Looked[]): void {
    this.#tally.differences += different.length;
    // A run that was listed here, and is not here any more, is lost like one that memory alone holds.
    this.#hasLost ||= different.some((one) => isLost(one) || (isExtra(one) && !this.#seeksExtra));
    for (const { run, verdict } of different) {
      if (this.#tally.different.length >= MAX_LISTED || !isDifference(verdict)) return;
      const { workflowId, runId } = run;
      const why = verdict === 'unstored' ? { why: UNSTORED_HERE } : {};
      this.#tally.different.push({ workflowId, runId, what: verdict, ...why });
    }
  }
}

function isDifference(verdict: DigestVerdict): verdict is DigestDifference['what'] {
  return verdict !== 'equal' && verdict !== 'moving' && verdict !== 'gone';
}

function isExtra({ verdict }: Looked): boolean {
  return verdict === 'extra';
}

function isLost({ verdict }: Looked): boolean {
  return verdict === 'unstored';
}

/** From here: by what this cell has stored. */
function isMendable(one: Looked): boolean {
  return isDifference(one.verdict) && !isLost(one);
}

function isMended(verdict: DigestVerdict): boolean {
  return verdict === 'equal' || verdict === 'gone';
}
