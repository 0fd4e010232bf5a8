import { describe, expect, it } from 'vitest';
import type { MovePhase } from '../../fleet/move.ts';
import type { LaneStatus, VerifyReport } from '../../replication/control/control.ts';
import { NO_FACTS, type Facts } from './facts.ts';
import { pauseParts, type PauseParts } from './pause-parts.ts';

const answered = <Value>(value: Value) => ({ kind: 'answered', value }) as const;
const barriers = answered([{ shard: 0, seq: 7 }]);
const lane = (seq: number) => {
  const idle = { kind: 'tail', pending: 0, lagMs: 0, copied: 0, total: 0 } as const;
  const applied = [{ shard: 0, seq }];
  return answered<LaneStatus>({ ...idle, parked: 0, deadLetters: 0, applied });
};
const verified = answered({ compared: 12, differences: 0, moving: 0 } as VerifyReport);

/** What is seen at which time, and the parts after it. */
function after(rows: readonly (readonly [number, MovePhase, Partial<Facts>])[]): PauseParts {
  return rows.reduce(
    (pause, [nowMs, phase, facts]) =>
      pauseParts(pause, { phase, facts: { ...NO_FACTS, ...facts }, nowMs }),
    { parts: {}, sinceMs: 1_000 },
  );
}

describe('the parts of a pause', () => {
  it('end with what the handover waits for, each measured from the end of the one before', () => {
    const { parts } = after([
      [1_005, 'handover', {}],
      [1_040, 'handover', { barriers }],
      [1_050, 'handover', { barriers, lane: lane(5) }],
      [1_060, 'handover', { barriers, lane: lane(7) }],
      [1_063, 'handover', { barriers, lane: lane(7) }],
      [1_100, 'handover', { barriers, lane: lane(7), verified }],
      [1_130, 'release', {}],
      [1_150, 'release', { target: answered('observed') }],
      [1_200, 'release', { target: answered('observed'), source: answered('observed') }],
    ]);
    expect(parts).toEqual({
      ...{ gatesMs: 40, drainMs: 20, compareMs: 40, compared: 12, switchMs: 30, openMs: 20 },
    });
  });

  it('are those that a driver saw itself, and none outside of a pause', () => {
    expect(after([[1_100, 'verify', { verified }]]).parts).toEqual({});
    const taken = after([
      [1_100, 'release', {}],
      [1_120, 'release', { target: answered('observed') }],
    ]);
    expect(taken.parts).toEqual({ switchMs: 100, openMs: 20 });
  });
});
