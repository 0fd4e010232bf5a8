/** A round for the tests of what is made of rounds: one window of 20 s, quiet unless said otherwise. */
import type { Cost } from '../measure/meter.ts';
import type { Figures } from '../report/figures.ts';
import type { Round } from '../scenarios/scenario.ts';

export function round(
  figures: Figures,
  over: { outside?: number; faults?: readonly string[] } = {},
) {
  const { outside = 0, faults = [] } = over;
  const cost: Cost = {
    seconds: 20,
    cpuSeconds: {},
    outsideCores: outside,
    stealCores: 0,
    memoryKb: {},
    statements: undefined,
    writeTransactions: 0,
    walBytes: 0,
    fullPageImages: 0,
    walSyncs: 0,
  };
  return { figures, costs: [cost], faults, details: {} } satisfies Round;
}
