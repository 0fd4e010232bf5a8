/** One namespace floods its lane, and holds poison: what its neighbour feels of it (P10), on virtual time. */
import { expect, test } from 'vitest';
import { NO_FAULT } from '../testing/receiver-peer.ts';
import { runRef, TwoCells } from '../testing/two-cells.ts';

const [LOUD, QUIET] = ['ns-loud', 'ns-quiet'];
/** Steps a second of the quiet namespace, and ten times the quota of the loud one. */
const QUOTA = 50;
const SECONDS = 12;
const TICK_MS = 10;

/** Lags of the quiet namespace's steps, ms, sorted. */
async function lagsOf(cells: TwoCells, { flood }: { readonly flood: boolean }): Promise<number[]> {
  const { a, b, clock } = cells;
  const lags: number[] = [];
  const waiting = new Map<string, number>();
  let n = 0;
  for (let tick = 0; tick < (SECONDS * 1_000) / TICK_MS; tick += 1) {
    if (flood) {
      for (let k = 0; k < (10 * QUOTA * TICK_MS) / 1_000; k += 1) {
        const text = tick === 20 && k === 0 ? 'poison' : 'x';
        a.replicas.write(runRef(`loud-${(n += 1) % 500}`, LOUD), { epoch: 1, text });
      }
    }
    if (tick % 10 === 0) {
      const ref = runRef(`quiet-${tick}`, QUIET);
      a.replicas.write(ref, { epoch: 1, text: 'x' });
      waiting.set(ref.runId, clock.monotonicMs());
    }
    await clock.advanceSettled(TICK_MS);
    for (const [runId, sinceMs] of waiting) {
      if (b.replicas.have(runId) === 0) continue;
      lags.push(clock.monotonicMs() - sinceMs);
      waiting.delete(runId);
    }
  }
  expect(waiting.size).toBeLessThan(5);
  return lags.toSorted((x, y) => x - y);
}

const p99 = (sorted: readonly number[]) => sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN;

test('a neighbour of a namespace that floods its lane tenfold keeps its lag', async () => {
  const cells = new TwoCells({
    namespaces: [LOUD, QUIET],
    config: { laneItemsPerSecond: QUOTA, pushesPerTarget: 2, repairAfterMs: 60_000 },
  });
  const { a, b } = cells;
  // A push takes its time at the target: turns are what lanes share.
  a.out.fate = () => ({ ...NO_FAULT, delayMs: 20 });
  await cells.settle();
  const quiet = await lagsOf(cells, { flood: false });
  const before = b.replicas.dump();
  const flooded = await lagsOf(cells, { flood: true });
  expect(p99(flooded)).toBeLessThanOrEqual(Math.max(2 * p99(quiet), 250));
  const { kind, pending, deadLetters } = cells.status(LOUD);
  expect({ kind, pending: pending > 5 * QUOTA, deadLetters }).toEqual({
    ...{ kind: 'tail', pending: true, deadLetters: 1 },
  });
  // The quota is spent, and no more; the poison stopped its own run alone.
  const loud = Object.values(b.replicas.dump()).join(' ').split(' ').length;
  const there = loud - Object.values(before).join(' ').split(' ').length;
  expect(there).toBeGreaterThan(QUOTA * SECONDS * 0.9);
  expect(there).toBeLessThan(QUOTA * (SECONDS + 4));
  const lane = { namespaceId: LOUD, target: 'b' };
  const letters = await a.letters.list(lane, { repairedToo: true, limit: 9 });
  expect(letters.map(({ reason }) => reason)).toEqual(['it is poison']);
  await cells.close();
});
