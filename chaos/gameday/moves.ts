/**
 * Many planned moves of one namespace, there and back, with runs that are open all the while and others that come and go
 * (P5): prints the pause of each. No call may fail, and both cells must hold the same executions after each.
 */
import { sleep, systemClock } from '../../kernel/clock.ts';
import { failedSince, moveTo, openRuns, type Ground } from './ground.ts';
import { doubled, missingOf } from './judge.ts';
import { Load } from './load.ts';
import { readRuns } from './read-runs.ts';

const CALM_MS = 2_000;

export type MovesOptions = {
  readonly moves: number;
  /** Runs that are open from the beginning to the end. */
  readonly open: number;
  readonly lanes: number;
  readonly say: (text: string) => void;
};

/** True if no call failed, nothing is missing, and the cells were equal after each move. */
export async function manyMoves(ground: Ground, options: MovesOptions): Promise<boolean> {
  const { fleet, client } = ground;
  const { moves, open, lanes, say } = options;
  await openRuns(client, open);
  say(`${open} runs are open`);
  const load = new Load(client, lanes);
  const pauses: number[] = [];
  let fine = true;
  try {
    for (let n = 1; n <= moves; n += 1) {
      await sleep(systemClock, CALM_MS);
      const beganAt = systemClock.now();
      const to = n % 2 === 1 ? 'b' : 'a';
      const { pauseMs, equal } = await moveTo(fleet, to);
      pauses.push(pauseMs);
      const failed = failedSince(load, beganAt);
      const tookMs = systemClock.now() - beganAt;
      say(
        `move ${n} to ${to}: calls held for ${pauseMs} ms (${tookMs} ms in all); ${failed.length} failed; ${equal}`,
      );
      for (const { what, why } of failed.slice(0, 5)) say(`  ${what}: ${why}`);
      fine &&= failed.length === 0;
    }
  } finally {
    await load.stop();
  }
  const read = await readRuns(fleet, load.log);
  const missing = missingOf(load.log, read);
  const again = doubled(read);
  say(`worst pause ${Math.max(...pauses)} ms; ${load.log.length} writes acknowledged`);
  say(`missing ${missing.length}, signals that are there twice ${again.length}`);
  return fine && missing.length === 0 && again.length === 0;
}
