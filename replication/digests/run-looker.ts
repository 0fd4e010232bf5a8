/**
 * Looks at runs in two cells until it is sure what to say of each (PROTOCOLS 10).
 *
 * Place: digest-compare.ts says which runs, and counts what comes of it.
 *
 * Invariants
 *  1. Equal digests at the same transition say it all. Anything else may be a step that is on its way: it must show twice
 *     without either side having moved, and to the last look where a lane may still be bringing something.
 *  2. The looks are further and further apart; all runs that are open share each of them.
 */
import type { RunRef } from '../../cell/shard/engine.ts';
import type { Replicas, RunDigest } from '../../cell/shard/replicas/replicas.ts';
import { sleep, type Clock } from '../../kernel/clock.ts';
import type { ReplicationConfig } from '../config.ts';
import type { ReplicaPeer } from '../peer.ts';
import { compareDigests, type DigestVerdict } from './digest-verdict.ts';
import type { Accused } from './repair-runs.ts';

/** What a comparison takes from outside. */
export type ComparerParts = {
  readonly replicas: Replicas;
  readonly peer: ReplicaPeer;
  readonly clock: Clock;
  readonly config: ReplicationConfig;
};

export type Looked = Accused & { readonly verdict: DigestVerdict };

/** A run of which nothing can be said yet, and at which transitions it was seen. */
export type OpenRun = {
  readonly run: RunRef;
  readonly at?: { readonly mine: number; readonly theirs: number } | undefined;
};

type Seen = {
  readonly run: RunRef;
  readonly theirs: RunDigest | undefined;
  readonly at: { readonly mine: number; readonly theirs: number };
  readonly verdict: DigestVerdict;
  /** Neither side has moved since the look before. */
  readonly stands: boolean;
};

export class RunLooker {
  readonly #parts: ComparerParts;
  readonly #ask: { readonly namespaceId: string; readonly recompute: boolean };

  constructor(
    ask: { readonly namespaceId: string; readonly recompute: boolean },
    parts: ComparerParts,
  ) {
    this.#ask = ask;
    this.#parts = parts;
  }

  /** One look. */
  async look(
    runs: readonly OpenRun[],
    signal: AbortSignal,
  ): Promise<{ readonly done: readonly Looked[]; readonly open: readonly OpenRun[] }> {
    const seen = await this.#see(runs, signal);
    return { done: seen.filter(isSure), open: seen.filter((one) => !isSure(one)) };
  }

  /** As many looks as it takes, at most `compareLooks` with the one before. */
  async settle(runs: readonly OpenRun[], signal: AbortSignal): Promise<readonly Looked[]> {
    const { clock, config } = this.#parts;
    const done: Looked[] = [];
    let open = runs;
    for (let look = 2; open.length > 0; look += 1) {
      await sleep(clock, config.compareAgainMs * 2 ** (look - 2), signal);
      const seen = await this.#see(open, signal);
      const isLast = look >= config.compareLooks;
      done.push(...(isLast ? seen.map(atLast) : seen.filter(isSure)));
      open = isLast ? [] : seen.filter((one) => !isSure(one));
    }
    return done;
  }

  async #see(runs: readonly OpenRun[], signal: AbortSignal): Promise<readonly Seen[]> {
    const { replicas, peer, config } = this.#parts;
    const { namespaceId, recompute } = this.#ask;
    const seen: Seen[] = [];
    for (let i = 0; i < runs.length; i += config.copyPageRuns) {
      const page = runs.slice(i, i + config.copyPageRuns);
      const refs = page.map(({ run }) => run);
      const mine = await replicas.digests(refs, { recompute }, signal);
      const theirs = await peer.digests({ namespaceId, runs: refs, recompute }, signal);
      seen.push(...page.map((one, k) => seenAs(one, mine[k], theirs[k])));
    }
    return seen;
  }
}

function seenAs(
  { run, at: before }: OpenRun,
  mine: RunDigest | undefined,
  theirs: RunDigest | undefined,
): Seen {
  const at = { mine: mine?.transition ?? 0, theirs: theirs?.transition ?? 0 };
  const stands = before?.mine === at.mine && before.theirs === at.theirs;
  return { run, theirs, at, stands, verdict: compareDigests(mine, theirs, { stands }) };
}

function isSure({ verdict, stands, at }: Seen): boolean {
  if (verdict === 'equal') return true;
  if (!stands) return false;
  switch (verdict) {
    case 'moving':
      return false;
    case 'unreadable':
    case 'unstored':
      return true;
    case 'execution':
      // The workflow id's next run may be on its way: this one need not have moved for it.
      return false;
    case 'gone':
    case 'extra':
    case 'missing':
    case 'history':
    case 'state':
      return at.theirs >= at.mine;
  }
}

/** What is to be said without another look. */
function atLast({ run, theirs, verdict, stands, at }: Seen): Looked {
  const isDamage = verdict === 'unreadable' || verdict === 'unstored';
  const mayCome = at.theirs < at.mine && !stands && !isDamage;
  return { run, theirs, verdict: mayCome ? 'moving' : verdict };
}
