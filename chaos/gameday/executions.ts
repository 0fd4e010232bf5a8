/** Counts how often each activity was executed, by the workers themselves: one with a single attempt may run once at most (P4). */
export class Executions {
  readonly #times = new Map<string, number>();

  /** A worker begins to execute it. */
  began(runId: string, activityId: string): void {
    const key = `${runId}/${activityId}`;
    this.#times.set(key, (this.#times.get(key) ?? 0) + 1);
  }

  get count(): number {
    return this.#times.size;
  }

  /** Those that ran more than once. */
  get doubled(): readonly string[] {
    return [...this.#times].filter(([, times]) => times > 1).map(([key]) => key);
  }
}
