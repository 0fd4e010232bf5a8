/**
 * A cell's control of its namespaces (control.ts), served by the cell itself: the map is its judge, the shards act.
 *
 * Invariants
 *  1. Nothing is closed unless the map, seen by this cell, holds the handover of that move with this cell active (PROTOCOLS 8).
 *  2. Only the active cell repairs another: a standby's copy never replaces what the active one has.
 */
import type { Replicas } from '../../cell/shard/replicas/replicas.ts';
import type { Namespace } from '../../fleet/map.ts';
import { sleep, type Clock } from '../../kernel/clock.ts';
import { AtollError } from '../../kernel/errors.ts';
import type { ReplicationConfig } from '../config.ts';
import type {
  CellControl,
  GateAsk,
  LaneStatus,
  LossEstimate,
  ShardBarrier,
  VerifyAsk,
  VerifyReport,
} from './control.ts';
import { DigestComparer, type Compared } from '../digests/digest-compare.ts';
import type { FollowedMap } from '../followed-map.ts';
import type { LaneSender } from '../lanes/lane-sender.ts';
import type { LossRecorder } from '../losses/loss-recorder.ts';
import type { LossReport } from '../losses/loss-report.ts';
import type { ReplicaPeer } from '../peer.ts';
import type { SourceReports } from '../receiver/source-reports.ts';

export type CellControlParts = {
  readonly cellId: string;
  readonly map: FollowedMap;
  readonly replicas: Replicas;
  readonly sender: Pick<LaneSender, 'status'>;
  readonly reports: SourceReports;
  readonly losses: Pick<LossRecorder, 'report'>;
  readonly peerOf: (cellId: string) => ReplicaPeer;
  readonly clock: Clock;
  readonly config: ReplicationConfig;
};

/** Between looks at a map that has not reached a revision yet. */
const LOOK_AGAIN_MS = 50;

export class ServedCellControl implements CellControl {
  readonly #parts: CellControlParts;
  /** The last comparison with each replica: one a namespace and cell that keeps it. */
  readonly #compared = new Map<string, { readonly epoch: number; readonly compared: Compared }>();

  constructor(parts: CellControlParts) {
    this.#parts = parts;
  }

  async gate(ask: GateAsk, signal: AbortSignal): Promise<readonly ShardBarrier[]> {
    const { cellId, replicas } = this.#parts;
    const { placement } = await this.#seen(ask, signal);
    const { state } = placement;
    if (placement.active !== cellId || state.kind !== 'handover' || state.moveId !== ask.moveId) {
      throw new AtollError(
        'failed-precondition',
        `Cell ${cellId} does not close namespace ${ask.namespaceId} for move ${ask.moveId}: its map has it ${state.kind} at cell ${placement.active}.`,
      );
    }
    return replicas.gate(ask, signal);
  }

  async lane(ask: { readonly namespaceId: string; readonly target: string }): Promise<LaneStatus> {
    return this.#parts.sender.status(ask);
  }

  async observe(
    ask: { readonly namespaceId: string; readonly revision: number },
    signal: AbortSignal,
  ): Promise<void> {
    await this.#seen(ask, signal);
    await this.#parts.replicas.observe(ask.namespaceId, signal);
  }

  async verify(ask: VerifyAsk, signal: AbortSignal): Promise<VerifyReport> {
    const { cellId, replicas, clock, config, peerOf } = this.#parts;
    const { namespaceId, against, repair, stored = false } = ask;
    const { placement } = this.#namespace(namespaceId);
    if (against === cellId || !placement.replicas.includes(against)) {
      throw new AtollError(
        'failed-precondition',
        `Cell ${against} keeps no copy of namespace ${namespaceId} that cell ${cellId} could be held against.`,
      );
    }
    if (repair && placement.active !== cellId) {
      throw new AtollError(
        'failed-precondition',
        `Cell ${cellId} is not active for namespace ${namespaceId} and repairs nobody: ask cell ${placement.active}.`,
      );
    }
    const { epoch, state } = placement;
    const key = `${namespaceId}/${against}`;
    const known = ask.changed === true ? this.#compared.get(key) : undefined;
    const comparer = new DigestComparer(
      {
        ...{ namespaceId, repair, recompute: repair || stored },
        ...(known?.epoch === epoch ? { known: known.compared } : {}),
        // Before a handover what moves is left to it; in it nothing moves, and what does not match is looked at again.
        looks: ask.changed === true && state.kind === 'active' ? 'one' : 'all',
      },
      { replicas, clock, config, peer: peerOf(against) },
    );
    const report = await comparer.run(signal);
    this.#remember(key, { namespaceId, epoch, compared: comparer.compared });
    return report;
  }

  /** Of an epoch that is over nothing is kept: another cell may have decided since. */
  #remember(
    key: string,
    of: {
      readonly namespaceId: string;
      readonly epoch: number;
      readonly compared: Compared | undefined;
    },
  ): void {
    const { namespaceId, epoch, compared } = of;
    const placement = this.#parts.map.namespaceById(namespaceId)?.placement;
    if (compared && placement?.epoch === epoch) this.#compared.set(key, { epoch, compared });
    else this.#compared.delete(key);
  }

  async estimateLoss(ask: { readonly namespaceId: string }): Promise<readonly LossEstimate[]> {
    const { cellId, reports } = this.#parts;
    const { placement } = this.#namespace(ask.namespaceId);
    return placement.replicas
      .filter((replica) => replica !== cellId)
      .map((source) => reports.estimate(source, ask.namespaceId));
  }

  lossReport(ask: { readonly namespaceId: string }, signal: AbortSignal): Promise<LossReport> {
    return this.#parts.losses.report(ask.namespaceId, signal);
  }

  /** The namespace by a map that has reached the revision; waits for it as long as the caller does. */
  async #seen(
    ask: { readonly namespaceId: string; readonly revision: number },
    signal: AbortSignal,
  ): Promise<Namespace> {
    const { map, clock } = this.#parts;
    while (map.map.revision < ask.revision) {
      await map.refresh();
      if (map.map.revision < ask.revision) await sleep(clock, LOOK_AGAIN_MS, signal);
    }
    return this.#namespace(ask.namespaceId);
  }

  #namespace(id: string): Namespace {
    const { map, cellId } = this.#parts;
    const namespace = map.namespaceById(id);
    if (namespace === undefined || namespace.state === 'deleted') {
      throw new AtollError('not-found', `Namespace ${id} is not in the fleet map.`);
    }
    if (!namespace.placement.replicas.includes(cellId)) {
      throw new AtollError(
        'failed-precondition',
        `Cell ${cellId} keeps no copy of namespace ${id}.`,
      );
    }
    return namespace;
  }
}
