/** The ports to another cell, over the fleet's ways: its receiver for lanes, its control for orchestrators. */
import type { ApplyOutcome, RunDigest } from '../../../cell/shard/replicas/replicas.ts';
import type { RunRef } from '../../../cell/shard/engine.ts';
import { withDeadline } from '../../../kernel/deadline.ts';
import type {
  CellControl,
  GateAsk,
  LaneStatus,
  LossEstimate,
  ShardBarrier,
  VerifyAsk,
  VerifyReport,
} from '../../../replication/control/control.ts';
import type { LossReport } from '../../../replication/losses/loss-report.ts';
import type {
  ImagePush,
  LaneBacklog,
  ReplicaPeer,
  RunsPage,
  StepPush,
} from '../../../replication/peer.ts';
import type { Receiver } from '../../../replication/receiver/receiver.ts';
import type { Links } from './links.ts';
import type { Place } from './place.ts';

/** A cell's process as others reach it. */
export type Reached = Place & { readonly receiver: Receiver; readonly control: CellControl };

export type Ways = {
  readonly links: Links;
  /** The cell's process of the moment; undefined while it is down. */
  readonly cell: (id: string) => Reached | undefined;
};

/** What a server gives a call at most. */
const SERVED_MS = 20_000;

export class LinkedPeer implements ReplicaPeer {
  readonly #source: Place;
  readonly #sourceId: string;
  readonly #target: string;
  readonly #ways: Ways;

  constructor(source: Place, cells: { sourceId: string; target: string }, ways: Ways) {
    this.#source = source;
    this.#sourceId = cells.sourceId;
    this.#target = cells.target;
    this.#ways = ways;
  }

  pushSteps(push: StepPush): Promise<readonly ApplyOutcome[]> {
    return this.#carry((receiver, signal) => receiver.steps(this.#sourceId, push, signal));
  }

  pushImages(push: ImagePush): Promise<readonly ApplyOutcome[]> {
    return this.#carry((receiver, signal) => receiver.images(this.#sourceId, push, signal));
  }

  remove(ask: {
    readonly namespaceId: string;
    readonly runs: readonly RunDigest[];
  }): Promise<readonly ApplyOutcome[]> {
    return this.#carry((receiver, signal) => receiver.remove(this.#sourceId, ask, signal));
  }

  digests(ask: {
    readonly namespaceId: string;
    readonly runs: readonly RunRef[];
    readonly recompute: boolean;
  }): Promise<readonly (RunDigest | undefined)[]> {
    return this.#carry((receiver, signal) => receiver.digests(this.#sourceId, ask, signal));
  }

  runs(ask: {
    readonly namespaceId: string;
    readonly shard: number;
    readonly after?: string | undefined;
    readonly limit: number;
  }): Promise<RunsPage> {
    return this.#carry((receiver, signal) => receiver.runs(this.#sourceId, ask, signal));
  }

  probe(backlogs: readonly LaneBacklog[]): Promise<{ readonly now: number }> {
    return this.#carry(async (receiver) => receiver.probe(this.#sourceId, backlogs));
  }

  #carry<Result>(
    call: (receiver: Receiver, signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const { links, cell } = this.#ways;
    const way = { from: this.#source, to: this.#target, kind: 'lane' } as const;
    return links.carry(
      way,
      () => cell(this.#target),
      (to) => served(to, (signal) => call(to.receiver, signal)),
    );
  }
}

export class LinkedControl implements CellControl {
  readonly #caller: Place;
  readonly #target: string;
  readonly #ways: Ways;

  constructor(caller: Place, target: string, ways: Ways) {
    this.#caller = caller;
    this.#target = target;
    this.#ways = ways;
  }

  gate(ask: GateAsk): Promise<readonly ShardBarrier[]> {
    return this.#carry((control, signal) => control.gate(ask, signal));
  }

  lane(ask: { readonly namespaceId: string; readonly target: string }): Promise<LaneStatus> {
    return this.#carry((control, signal) => control.lane(ask, signal));
  }

  observe(ask: { readonly namespaceId: string; readonly revision: number }): Promise<void> {
    return this.#carry((control, signal) => control.observe(ask, signal));
  }

  verify(ask: VerifyAsk): Promise<VerifyReport> {
    return this.#carry((control, signal) => control.verify(ask, signal));
  }

  estimateLoss(ask: { readonly namespaceId: string }): Promise<readonly LossEstimate[]> {
    return this.#carry((control, signal) => control.estimateLoss(ask, signal));
  }

  lossReport(ask: { readonly namespaceId: string }): Promise<LossReport> {
    return this.#carry((control, signal) => control.lossReport(ask, signal));
  }

  #carry<Result>(
    call: (control: CellControl, signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const { links, cell } = this.#ways;
    const way = { from: this.#caller, to: this.#target, kind: 'control' } as const;
    return links.carry(
      way,
      () => cell(this.#target),
      (to) => served(to, (signal) => call(to.control, signal)),
    );
  }
}

function served<Result>(
  { gate, name }: Place,
  call: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  return withDeadline(gate, { what: `a call to ${name}`, timeoutMs: SERVED_MS }, call);
}
