import { describe, expect, it } from 'vitest';
import type { Move, MovePhase } from '../../fleet/move.ts';
import type { LaneStatus, VerifyReport } from '../../replication/control/control.ts';
import { MOVE_PACE, NO_FACTS, type Facts, type Step } from './facts.ts';
import { nextStep } from './next-step.ts';

const move: Move = {
  id: 'm',
  kind: 'planned',
  from: 'east',
  to: 'west',
  fromEpoch: 1,
  startedAt: 0,
  phase: 'seed',
  phaseSince: 0,
  maxPauseMs: 5_000,
  autoConfirm: false,
};
const near: LaneStatus = {
  kind: 'tail',
  pending: 0,
  lagMs: 0,
  copied: 0,
  total: 0,
  parked: 0,
  deadLetters: 0,
  acknowledgedMsAgo: 1,
  applied: [
    { shard: 0, seq: 7 },
    { shard: 1, seq: 9 },
  ],
};
const equal: VerifyReport = {
  compared: 2,
  equal: 2,
  different: [],
  differences: 0,
  moving: 0,
  repaired: 0,
};
const answered = <Value>(value: Value) => ({ kind: 'answered', value }) as const;
const failed = { kind: 'failed', code: 'unavailable', message: 'no answer' } as const;
const lane = (change: Partial<LaneStatus> = {}) => answered({ ...near, ...change });
/** The lane back works, and what changed has been compared. */
const proven = (change: Partial<VerifyReport> = {}): Partial<Facts> => ({
  reverse: lane(),
  verified: answered({ ...equal, ...change }),
});
const gates = answered([
  { shard: 0, seq: 7 },
  { shard: 1, seq: 9 },
]);
const late = move.maxPauseMs;

/** A step in a few words: `ask lane`, `wait: why`, `advance tail`, `roll-back: why`. */
function words(step: Step): string {
  switch (step.kind) {
    case 'ask':
      return step.ask.kind === 'verify'
        ? `ask verify${step.ask.changed ? ' what changed' : ''}${step.ask.repair ? ' and repair' : ''}`
        : `ask ${step.ask.kind}`;
    case 'wait':
      return `wait: ${step.note}`;
    case 'advance':
      return `advance ${step.to}`;
    case 'roll-back':
      return `roll-back: ${step.reason}`;
    default:
      return step.kind;
  }
}

describe('what comes next in a move', () => {
  const rows: readonly [MovePhase, Partial<Facts>, RegExp][] = [
    ['seed', {}, /^ask lane$/],
    ['seed', { lane: failed }, /^wait: no answer$/],
    ['seed', { lane: lane({ kind: 'copy', copied: 3, total: 9 }) }, /^wait: copied 3 of about 9/],
    ['seed', { lane: lane() }, /^advance tail$/],
    ['tail', { lane: lane({ lagMs: 60_000 }) }, /^wait: .*60000 ms/],
    ['tail', { lane: lane({ pending: 50_000 }) }, /^wait: .*50000 transitions/],
    ['tail', { lane: lane({ skewMs: -1_500 }) }, /^wait: .*clocks.*1500 ms/],
    ['tail', { lane: lane({ parked: 1 }) }, /^advance verify$/],
    ['verify', {}, /^ask verify$/],
    ['verify', { rounds: 1 }, /^ask verify and repair$/],
    ['verify', { verified: answered({ ...equal, differences: 1 }) }, /^wait: 1 executions differ/],
    ['verify', { verified: answered({ ...equal, moving: 5 }) }, /^advance reverse$/],
    ['reverse', {}, /^ask reverse$/],
    ['reverse', { reverse: lane({ acknowledgedMsAgo: undefined }) }, /^wait: the lane back/],
    ['reverse', { reverse: lane() }, /^ask verify what changed$/],
    ['reverse', { reverse: lane(), verified: failed }, /^wait: no answer$/],
    ['reverse', proven({ differences: 1 }), /^advance tail$/],
    ['reverse', proven({ compared: 4_000 }), /^wait: 4000 executions had changed/],
    ['reverse', { ...proven({ compared: 4_000 }), rounds: 5 }, /^ask lane$/],
    ['reverse', proven(), /^ask lane$/],
    ['reverse', { ...proven(), lane: lane({ deadLetters: 2 }) }, /^wait: 2 transitions/],
    ['reverse', { ...proven(), lane: lane({ lagMs: 9_000 }) }, /^advance tail$/],
    ['reverse', { ...proven({ moving: 9 }), lane: lane() }, /^begin-handover$/],
    ['handover', {}, /^ask gate$/],
    ['handover', { barriers: failed }, /^wait: .*not closed/],
    [
      'handover',
      { barriers: failed, phaseMs: late },
      /^roll-back: .*5000 ms.*not closed.*no answer/,
    ],
    ['handover', { barriers: gates }, /^ask lane$/],
    ['handover', { barriers: gates, lane: lane({ applied: [] }) }, /^wait: .*not applied/],
    [
      'handover',
      { barriers: gates, lane: lane({ applied: [{ shard: 0, seq: 7 }] }), phaseMs: late },
      /^roll-back: .*not applied/,
    ],
    ['handover', { barriers: gates, lane: lane({ parked: 1 }) }, /^roll-back: 1 runs are parked/],
    ['handover', { barriers: gates, lane: lane() }, /^ask verify what changed$/],
    [
      'handover',
      { barriers: gates, lane: lane(), verified: answered({ ...equal, differences: 1 }) },
      /^roll-back: 1 executions differ/,
    ],
    [
      'handover',
      { barriers: gates, lane: lane(), verified: answered({ ...equal, moving: 1 }) },
      /^wait: .*1 change/,
    ],
    ['handover', { barriers: gates, lane: lane(), verified: answered(equal) }, /^flip$/],
    ['release', {}, /^ask observe-target$/],
    ['release', { target: failed, phaseMs: 1e9 }, /^wait: west: no answer$/],
    ['release', { target: answered('observed') }, /^ask observe-source$/],
    ['release', { target: answered('observed'), source: failed }, /^wait: east: no answer$/],
    [
      'release',
      { target: answered('observed'), source: failed, phaseMs: MOVE_PACE.tellOldSideMs },
      /^advance settled$/,
    ],
    ['reopen', {}, /^ask observe-source$/],
    ['reopen', { source: answered('observed') }, /^end$/],
    ['reopen', { source: failed, phaseMs: MOVE_PACE.tellOldSideMs }, /^end$/],
    ['settled', {}, /^rest$/],
    ['finished', {}, /^rest$/],
  ];
  it.each(rows)('in %s, knowing %j: %s', (phase, facts, next) => {
    const step = nextStep({ ...move, phase }, { ...NO_FACTS, ...facts });
    expect(words(step)).toMatch(next);
  });

  it('ends a failover once the new side was told and the old one asked, and confirms by itself if asked to', () => {
    const facts: Facts = {
      ...NO_FACTS,
      target: answered('observed'),
      source: answered('observed'),
    };
    const failover = { ...move, kind: 'failover', phase: 'release' } as const;
    expect(words(nextStep(failover, facts))).toBe('end');
    expect(words(nextStep(failover, { ...facts, source: failed }))).toBe('end');
    const settled = { ...move, phase: 'settled', autoConfirm: true } as const;
    expect(words(nextStep(settled, NO_FACTS))).toBe('end');
  });
});
