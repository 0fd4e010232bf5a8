/**
 * The shards of a cell as replication sees them, in memory: runs as lists of (number, epoch, text), rules for branches as in
 * PROTOCOLS 9 without re-applied inputs. A run's text `poison` cannot be applied by `apply`.
 */
import { AtollError } from '../../kernel/errors.ts';
import type { RunRef } from '../../cell/shard/engine.ts';
import type {
  ApplyOutcome,
  LaneFeed,
  Replicas,
  ReplicatedStep,
  RunDigest,
  RunImage,
  RunsOfShard,
} from '../../cell/shard/replicas/replicas.ts';
import type { RunState } from '../../cell/history/state.ts';
import type { Seq, ShardId } from '../../cell/storage/shard-log.ts';

type Step = { readonly number: number; readonly epoch: number; readonly text: string };
type Run = { readonly ref: RunRef; steps: Step[]; lost: Step[][]; seq: Seq };
type Row = { readonly seq: Seq; readonly steps: readonly ReplicatedStep[] };
type Shard = {
  rows: Row[];
  end: Seq;
  /** Rows at or below are deleted. */
  deleted: Seq;
  saved: Uint8Array | undefined;
  isOpen: boolean;
  readonly runs: Map<string, Run>;
};

const NO_EVENTS = new Uint8Array(0);
const LATER: ApplyOutcome = { kind: 'later', reason: 'its shard has stopped' };

export class FakeReplicas implements Replicas {
  readonly shardCount: number;
  readonly #shards: Shard[];
  readonly #now: () => number;
  #feed: LaneFeed | undefined;
  /** Runs of which somebody else is to decide. */
  readonly undecided = new Set<string>();
  /** Runs that cannot be taken for now. */
  readonly later = new Set<string>();
  /** Whether it decides of what lost here. */
  acts = true;
  /** Makes a call fail: thrown before anything is done. */
  failure: (() => Error | undefined) | undefined;
  /** Digests that the store has instead of the true ones: a corrupted replica. */
  readonly corrupted = new Map<string, Partial<RunDigest>>();
  /** The same, which shows only where all that is stored is read: memory knows better. */
  readonly damaged = new Map<string, Partial<RunDigest>>();

  /** Nothing is saved yet: a shard's runs come all at once with the first page. */
  unsaved = false;

  constructor(shardCount: number, now: () => number) {
    this.shardCount = shardCount;
    this.#now = now;
    this.#shards = Array.from({ length: shardCount }, () => ({
      rows: [],
      end: 0 as Seq,
      deleted: 0 as Seq,
      saved: undefined,
      isOpen: false,
      runs: new Map<string, Run>(),
    }));
  }

  get shards(): readonly ShardId[] {
    return this.#shards.map((_, i) => i as ShardId);
  }

  /** Takes every shard over, as an owner that starts does. */
  open(feed: LaneFeed): void {
    this.#feed = feed;
    for (const shard of this.shards) this.reopen(shard);
  }

  /** A shard changes its owner: a takeover row, then the feed hears of it. */
  reopen(id: ShardId): void {
    const shard = this.#at(id);
    if (shard.isOpen) this.#feed?.closed(id);
    this.#append(id, []);
    shard.isOpen = true;
    this.#feed?.opened(id, { saved: shard.saved, end: shard.end });
  }

  /** Writes a checkpoint: saves the lanes' positions and deletes the log as far as they let it. */
  checkpoint(id: ShardId): void {
    const shard = this.#at(id);
    const upTo = this.#feed?.releasable(id, shard.end) ?? shard.end;
    shard.saved = this.#feed?.position(id);
    shard.deleted = upTo;
    shard.rows = shard.rows.filter(({ seq }) => seq > upTo);
  }

  rowCount(id: ShardId): number {
    return this.#at(id).rows.length;
  }

  end(id: ShardId): Seq {
    return this.#at(id).end;
  }

  shardOf(runId: string): ShardId {
    let hash = 7;
    for (const unit of runId) hash = (hash * 31 + unit.charCodeAt(0)) >>> 0;
    return (hash % this.shardCount) as ShardId;
  }

  /** One own transition of a run, committed. */
  write(ref: RunRef, step: { readonly epoch: number; readonly text: string }): void {
    const run = this.#runOf(ref);
    const number = (run.steps.at(-1)?.number ?? 0) + 1;
    this.#commit([{ ref, step: { number, ...step } }]);
  }

  /** A row of several runs' transitions. */
  writeMany(
    refs: readonly RunRef[],
    step: { readonly epoch: number; readonly text: string },
  ): void {
    for (const shard of this.shards) {
      const mine = refs.filter(({ runId }) => this.shardOf(runId) === shard);
      if (mine.length === 0) continue;
      this.#commit(
        mine.map((ref) => ({
          ref,
          step: { number: (this.#runOf(ref).steps.at(-1)?.number ?? 0) + 1, ...step },
        })),
      );
    }
  }

  forget(ref: RunRef): void {
    this.#at(this.shardOf(ref.runId)).runs.delete(ref.runId);
  }

  /** All runs as text, for comparing two cells. */
  dump(): Readonly<Record<string, string>> {
    const runs = this.#shards.flatMap(({ runs }) => [...runs.values()]);
    const lines = runs.map(
      ({ ref, steps }) =>
        [
          ref.runId,
          steps.map(({ number, epoch, text }) => `${number}@${epoch}${text}`).join(' '),
        ] as const,
    );
    return Object.fromEntries(lines.sort(([a], [b]) => a.localeCompare(b)));
  }

  /** Branches that lost here. */
  lostOf(runId: string): readonly (readonly Step[])[] {
    return this.#at(this.shardOf(runId)).runs.get(runId)?.lost ?? [];
  }

  /** Transition number of a run here, 0 = none. */
  have(runId: string): number {
    return this.#at(this.shardOf(runId)).runs.get(runId)?.steps.at(-1)?.number ?? 0;
  }

  async apply(steps: readonly ReplicatedStep[]): Promise<readonly ApplyOutcome[]> {
    this.#fail();
    return steps.map((step) => this.#applyOne(step));
  }

  async adopt(image: RunImage): Promise<ApplyOutcome> {
    this.#fail();
    const { namespaceId, workflowId, runId } = image.state;
    if (this.undecided.has(runId)) return { kind: 'undecided' };
    if (this.later.has(runId)) return LATER;
    const run = this.#runOf({ namespaceId, workflowId, runId });
    const theirs = JSON.parse(Buffer.from(image.events[0] ?? NO_EVENTS).toString()) as Step[];
    if (this.corrupted.delete(runId)) return { kind: 'applied' };
    const mine = run.steps.at(-1);
    const last = theirs.at(-1);
    if (isPrefix(theirs, run.steps)) return { kind: 'known' };
    if (!isPrefix(run.steps, theirs) && (mine?.epoch ?? 0) >= (last?.epoch ?? 0)) {
      if (!this.acts) return { kind: 'undecided' };
      run.lost.push(theirs);
      return { kind: 'lost' };
    }
    if (!isPrefix(run.steps, theirs)) run.lost.push(run.steps);
    run.steps = theirs;
    run.seq = this.#append(this.shardOf(runId), []);
    return { kind: 'applied' };
  }

  async remove(run: RunDigest): Promise<ApplyOutcome> {
    this.forget(run);
    return { kind: 'applied' };
  }

  async image(ref: RunRef): Promise<RunImage> {
    this.#fail();
    const run = this.#at(this.shardOf(ref.runId)).runs.get(ref.runId);
    if (run === undefined) throw new AtollError('not-found', `no run ${ref.runId}`);
    const last = run.steps.at(-1);
    const state = {
      ...ref,
      transition: last?.number ?? 0,
      epoch: last?.epoch ?? 0,
      activities: new Map(),
      timers: new Map(),
    } as unknown as RunState;
    const current = {
      epoch: last?.epoch ?? 0,
      runId: ref.runId,
      firstRunId: ref.runId,
      status: 1,
      startedAt: 0,
      startRequestId: 'r',
    };
    return {
      state,
      events: [Buffer.from(JSON.stringify(run.steps))],
      current,
      ledger: [],
    } as RunImage;
  }

  async runsOf(
    ask: { readonly shard: ShardId; readonly namespaceId: string; readonly afterSeq: Seq },
    page: { readonly after?: string | undefined; readonly limit: number },
  ): Promise<RunsOfShard> {
    this.#fail();
    const runs = [...this.#at(ask.shard).runs.values()]
      .filter(({ ref, seq }) => ref.namespaceId === ask.namespaceId && seq > ask.afterSeq)
      .map(({ ref }) => ref)
      .sort((a, b) => (a.runId < b.runId ? -1 : 1))
      .filter(({ runId }) => page.after === undefined || runId > page.after);
    const found = this.unsaved ? runs : runs.slice(0, page.limit);
    const next = runs.length > found.length ? found.at(-1)?.runId : undefined;
    return { runs: found, next, asOf: this.end(ask.shard) };
  }

  async missing(runs: readonly RunRef[]): Promise<readonly RunRef[]> {
    this.#fail();
    return runs.filter((ref) => !this.#at(this.shardOf(ref.runId)).runs.has(ref.runId));
  }

  async digests(
    runs: readonly RunRef[],
    { recompute }: { readonly recompute: boolean },
  ): Promise<readonly (RunDigest | undefined)[]> {
    this.#fail();
    return runs.map((ref) => {
      const run = this.#at(this.shardOf(ref.runId)).runs.get(ref.runId);
      const last = run?.steps.at(-1);
      if (run === undefined || last === undefined) return undefined;
      const history = JSON.stringify(run.steps);
      const { number: transition, epoch } = last;
      const true_ = { ...ref, transition, epoch, history, state: 's', execution: 'e' };
      const damage = recompute ? this.damaged.get(ref.runId) : undefined;
      return { ...true_, ...this.corrupted.get(ref.runId), ...damage };
    });
  }

  async logAfter(
    shard: ShardId,
    { after, limit }: { readonly after: Seq; readonly limit: number },
  ): Promise<readonly Row[]> {
    this.#fail();
    return this.#at(shard)
      .rows.filter(({ seq }) => seq > after)
      .slice(0, limit);
  }

  async gate(): Promise<readonly { readonly shard: ShardId; readonly seq: Seq }[]> {
    return this.shards.map((shard) => ({ shard, seq: this.#append(shard, []) }));
  }

  async observe(): Promise<void> {}

  #applyOne(step: ReplicatedStep): ApplyOutcome {
    const { namespaceId, workflowId, runId, number, epoch } = step.transition;
    if (this.undecided.has(runId)) return { kind: 'undecided' };
    if (this.later.has(runId)) return LATER;
    const text = textOf(step);
    const ref = { namespaceId, workflowId, runId };
    const known = this.#at(this.shardOf(runId)).runs.get(runId);
    const steps = known?.steps ?? [];
    const same = steps.find((one) => one.number === number);
    if (same?.epoch === epoch && same.text === text) return { kind: 'known' };
    const last = steps.at(-1);
    if (same !== undefined || (last?.epoch ?? 0) > epoch) {
      if (epoch > (last?.epoch ?? 0)) return { kind: 'diverged' };
      return { kind: this.acts ? 'lost' : 'undecided' };
    }
    const have = last?.number ?? 0;
    if (number !== have + 1) return { kind: 'gap', have };
    // On top of another transition than the source's: this branch lost.
    const before = step.transition.previousEpoch ?? epoch;
    if (last !== undefined && last.epoch !== before) return { kind: 'diverged' };
    if (text === 'poison') return { kind: 'refused', reason: 'it is poison' };
    this.#commit([{ ref, step: { number, epoch, text } }]);
    return { kind: 'applied' };
  }

  #commit(all: readonly { readonly ref: RunRef; readonly step: Step }[]): void {
    const [first] = all;
    if (first === undefined) return;
    const shard = this.shardOf(first.ref.runId);
    const steps = all.map(({ ref, step }): ReplicatedStep => {
      const { number, epoch, text } = step;
      const changes = [{ kind: 'start-request', requestId: text } as const];
      const before = this.#runOf(ref).steps.at(-1)?.epoch ?? epoch;
      const turn = before === epoch ? {} : { previousEpoch: before };
      const transition = { ...ref, number, epoch, at: this.#now(), changes, ...turn };
      return { transition, events: NO_EVENTS };
    });
    for (const { ref, step } of all) {
      const run = this.#runOf(ref);
      run.steps = [...run.steps, step];
      run.seq = (this.#at(shard).end + 1) as Seq;
    }
    this.#append(shard, steps);
  }

  #append(id: ShardId, steps: readonly ReplicatedStep[]): Seq {
    const shard = this.#at(id);
    shard.end = (shard.end + 1) as Seq;
    shard.rows.push({ seq: shard.end, steps });
    if (shard.isOpen) this.#feed?.committed(id, shard.end, steps);
    return shard.end;
  }

  #runOf(ref: RunRef): Run {
    const { runs } = this.#at(this.shardOf(ref.runId));
    let run = runs.get(ref.runId);
    if (run === undefined) runs.set(ref.runId, (run = { ref, steps: [], lost: [], seq: 0 as Seq }));
    return run;
  }

  #at(id: ShardId): Shard {
    const shard = this.#shards[id];
    if (shard === undefined) throw new AtollError('invalid-argument', `no shard ${id}`);
    return shard;
  }

  #fail(): void {
    const error = this.failure?.();
    if (error) throw error;
  }
}

function textOf(step: ReplicatedStep): string {
  const [change] = step.transition.changes;
  return change && 'requestId' in change ? String(change.requestId) : '';
}

function isPrefix(a: readonly Step[], b: readonly Step[]): boolean {
  return (
    a.length <= b.length &&
    a.every((step, i) => step.epoch === b[i]?.epoch && step.text === b[i]?.text)
  );
}
