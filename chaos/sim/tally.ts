/** Counts by name, kept over the seeds of a campaign: faults that were injected, cases that were judged. */

export const FAULTS = [
  'owner crash',
  'takeover',
  'takeover held up',
  'zombie past checkpoint and truncation',
  'statement lost',
  'statement late',
  'statement doubled',
  'store reply lost',
  'append unheard, then taken over',
  'store slow',
  'store failing',
  'request lost',
  'reply lost',
  'request doubled',
  'standby promoted without its tail',
  'clock jump',
  'worker lost a task',
  'worker slow with a task',
  'pollers late at a host',
] as const;
export type Fault = (typeof FAULTS)[number];

export const CHECKS = [
  'P1 acknowledged requests',
  'P1 acknowledged completions',
  'P1 tasks that workers got',
  'P2 log rows',
  'P2 takeovers',
  'P3 runs',
  'P4 transitions',
  'P4 activities of one attempt',
  'P4 repeated requests',
  'P4 histories that workers answered',
  'P7 ended orders',
  'P13 reads of runs',
  'P13 queries',
  'P13 not found',
  'fold equals state',
  'history equals log',
  'holes stopped',
] as const;
export type Check = (typeof CHECKS)[number];

/** Counts of a closed set of names. */
export class Tally<Name extends string> {
  readonly counts: Map<Name, number>;

  constructor(names: readonly Name[]) {
    this.counts = new Map(names.map((name) => [name, 0]));
  }

  add(name: Name, count = 1): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + count);
  }

  addAll(other: Tally<Name>): void {
    for (const [name, count] of other.counts) this.add(name, count);
  }

  /** Names that never came up. */
  get missing(): readonly Name[] {
    return [...this.counts].filter(([, count]) => count === 0).map(([name]) => name);
  }

  /** One line a name. */
  table(title: string): string {
    const lines = [...this.counts].map(([name, count]) => `  ${name.padEnd(40)}${count}`);
    return [title, ...lines].join('\n');
  }
}
