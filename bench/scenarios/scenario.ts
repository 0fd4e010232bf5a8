/** What a scenario is, and what one round of it tells. */
import type { Cost } from '../measure/meter.ts';
import type { Figures } from '../report/figures.ts';
import type { Stage } from './stage.ts';

export type Round = {
  readonly figures: Figures;
  /** Of its windows, in order. */
  readonly costs: readonly Cost[];
  /** Workflows that ended in its window, where that is what it measures. */
  readonly workflows?: number;
  /** Why the round says nothing about the engine; empty for one that counts. */
  readonly faults: readonly string[];
  /** Everything else that was seen, for the JSON. */
  readonly details: Readonly<Record<string, unknown>>;
};

export type Scenario = {
  /** As in `--only`. */
  readonly name: string;
  /** One line for `--help`. */
  readonly meaning: string;
  /** Fewer rounds than asked for, where a round takes minutes or leaves something behind. */
  readonly mostRounds?: number;
  /** How thin-bench is asked for the same load, where it can be. */
  readonly elsewhere?: readonly string[];
  readonly run: (stage: Stage) => Promise<Round>;
};
