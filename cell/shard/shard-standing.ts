/**
 * How the namespaces of one shard stand: by its marks, and by the map for those that never moved (PROTOCOLS 8).
 *
 * Place: the ownership asks before it decides, proves or drives anything; cells that replicate ask for gates.
 *
 * Invariants
 *  1. A mark that the map asks for is written before anything else of the namespace.
 *  2. Nothing begins on a mark that is not durable; everything ends on one that is decided.
 */
import { AtollError } from '../../kernel/errors.ts';
import type { Batch } from './log/gather.ts';
import { dueMark, isActing, type Mark, type PlacementView } from './mark.ts';
import { NamespaceMarks } from './namespace-marks.ts';
import { notActing } from './refusals.ts';

export type StandingParts = {
  readonly placementOf: (namespaceId: string) => PlacementView | undefined;
  /** Appends it to the shard's log; the errors of a shard that is not owned any more. */
  readonly append: (mark: Mark) => Batch;
  readonly isEnded: () => boolean;
  /** Resolves once all that was appended is durable. */
  readonly flushed: () => Promise<void>;
  /** The namespace is closed, or stands by: told with the refusal for those who wait. */
  readonly stopped: (mark: Mark, refusal: AtollError) => void;
};

/** A planned move's wish to close a namespace. */
export type GateAsk = {
  readonly namespaceId: string;
  readonly moveId: string;
  readonly revision: number;
};

export class ShardStanding {
  readonly marks = new NamespaceMarks();
  readonly #parts: StandingParts;

  constructor(parts: StandingParts, durable: readonly Mark[]) {
    this.#parts = parts;
    for (const mark of durable) this.marks.replayed(mark);
  }

  /** Whether work of the namespace begins here: its newest mark, if any, is durable and says so. */
  drives(namespaceId: string): boolean {
    return this.acts(namespaceId) && this.marks.isSettled(namespaceId);
  }

  /** Whether its newest mark, perhaps not durable yet, lets the namespace act here. */
  acts(namespaceId: string): boolean {
    return isActing(this.marks.get(namespaceId), this.#parts.placementOf(namespaceId));
  }

  /**
   * Refuses unless the namespace acts here.
   * Errors: `unavailable`, with trailers that tell a router where to go or that it is to hold the call.
   */
  assertActing(namespaceId: string): void {
    this.settle(namespaceId);
    if (!this.acts(namespaceId)) throw this.#refusal(namespaceId);
  }

  /** Writes the mark that the map asks for, if one is due (PROTOCOLS 8.4, 8.5). */
  settle(namespaceId: string): void {
    if (this.#parts.isEnded()) return;
    const placement = this.#parts.placementOf(namespaceId);
    const mark = dueMark(namespaceId, this.marks.get(namespaceId), placement);
    if (mark) this.#write(mark);
  }

  /**
   * Closes the namespace for a planned move (PROTOCOLS 8.1); resolves once the gate is durable. Asked again it is the same.
   * Errors: `failed-precondition` when the map of this cell does not show that handover.
   */
  async gate({ namespaceId, moveId, revision }: GateAsk): Promise<void> {
    const mark = this.marks.get(namespaceId);
    if (mark?.kind === 'gated' && mark.moveId === moveId) return this.observed(namespaceId);
    const placement = this.#parts.placementOf(namespaceId);
    // A cell that started from an older map has seen less than its shards' marks say.
    const newest = Math.max(revision, mark?.revision ?? 0);
    if (!placement?.active || !placement.handover || placement.revision < newest) {
      throw new AtollError(
        'failed-precondition',
        `namespace ${namespaceId} is not in handover from here, as of revision ${newest}, by revision ${placement?.revision ?? 0} of the fleet map: look at the move again`,
      );
    }
    // The map that this cell saw, which may be newer than the move's: a mark never goes back behind an earlier one.
    const { epoch, revision: seen } = placement;
    await this.#write({ kind: 'gated', namespaceId, moveId, epoch, revision: seen }).committed;
  }

  /** Writes what the map asks for; resolves once the newest mark of the namespace is durable. */
  async observed(namespaceId: string): Promise<void> {
    this.settle(namespaceId);
    if (!this.marks.isSettled(namespaceId)) await this.#parts.flushed();
  }

  /** The epoch in which the namespace is decided on here; 0 where neither mark nor map knows it. */
  epochOf(namespaceId: string): number {
    const placed = this.#parts.placementOf(namespaceId)?.epoch ?? 0;
    return Math.max(this.markedEpoch(namespaceId), placed);
  }

  /** The epoch of its newest mark; 0 = none. */
  markedEpoch(namespaceId: string): number {
    return this.marks.get(namespaceId)?.epoch ?? 0;
  }

  #write(mark: Mark): Batch {
    const batch = this.#parts.append(mark);
    if (mark.kind !== 'acting') this.#parts.stopped(mark, this.#refusal(mark.namespaceId));
    return batch;
  }

  #refusal(namespaceId: string): AtollError {
    const mark = this.marks.get(namespaceId);
    return notActing(namespaceId, mark, this.#parts.placementOf(namespaceId));
  }
}
