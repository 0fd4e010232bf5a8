/**
 * Counts kills by kind against what a run owes. A run that owes any is a failed run, however green its judge.
 */
export class Tally {
  readonly #owed: ReadonlyMap<string, number>;
  readonly #counts = new Map<string, number>();

  /** @param owed kills that must have happened, by kind */
  constructor(owed: Readonly<Record<string, number>>) {
    this.#owed = new Map(Object.entries(owed));
  }

  count(kind: string): void {
    this.#counts.set(kind, this.of(kind) + 1);
  }

  get total(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
  }

  of(kind: string): number {
    return this.#counts.get(kind) ?? 0;
  }

  /** Kinds that were killed less often than owed. */
  missing(): readonly string[] {
    return [...this.#owed]
      .filter(([kind, owed]) => this.of(kind) < owed)
      .map(([kind, owed]) => `${kind}: ${this.of(kind)} kills of ${owed}`);
  }

  /** A line for each kind. */
  describe(): string {
    return [...this.#owed]
      .map(([kind, owed]) => `  ${kind.padEnd(32)}${String(this.of(kind)).padStart(4)} of ${owed}`)
      .join('\n');
  }
}
