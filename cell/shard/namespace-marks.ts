/**
 * The marks of a shard (PROTOCOLS 8): decided ones count for what is refused from now on, committed ones for what begins.
 *
 * Invariants
 *  1. Nothing begins on a mark that is not durable; everything ends on one that is decided.
 *  2. What is saved with a checkpoint are the committed marks.
 */
import { invariant } from '../../kernel/invariant.ts';
import type { Mark } from './mark.ts';

export class NamespaceMarks {
  readonly #decided = new Map<string, Mark>();
  readonly #committed = new Map<string, Mark>();

  /** The newest decided mark. */
  get(namespaceId: string): Mark | undefined {
    return this.#decided.size === 0 ? undefined : this.#decided.get(namespaceId);
  }

  /** Whether the newest mark of the namespace is durable. */
  isSettled(namespaceId: string): boolean {
    return this.get(namespaceId) === this.#committed.get(namespaceId);
  }

  decided(mark: Mark): void {
    const before = this.#decided.get(mark.namespaceId);
    invariant(
      before === undefined || (mark.epoch >= before.epoch && mark.revision >= before.revision),
      `a mark of namespace ${mark.namespaceId} goes back: ${before?.epoch}/${before?.revision} to ${mark.epoch}/${mark.revision}`,
    );
    this.#decided.set(mark.namespaceId, mark);
  }

  committed(mark: Mark): void {
    this.#committed.set(mark.namespaceId, mark);
  }

  /** A durable mark: of the last checkpoint, or of the tail. */
  replayed(mark: Mark): void {
    this.decided(mark);
    this.committed(mark);
  }

  /** The durable ones, to be saved. */
  durable(): readonly Mark[] {
    return [...this.#committed.values()];
  }
}
