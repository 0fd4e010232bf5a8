import { describe, expect, test } from 'vitest';
import { judge, type Evidence, type JudgedOrder, type LedgerLine, type RunRead } from './check.ts';

const shipping: JudgedOrder = {
  id: 'a',
  cents: 100,
  card: 'pays',
  stockMissing: 0,
  shipsAfterMs: 5,
};

const capture: LedgerLine = {
  kind: 'capture',
  outcome: 'done',
  order: 'a',
  cents: 100,
  run: 'r',
  activity: '1',
};

function history(...types: string[]): RunRead['events'] {
  return types.map((type, index) => ({ id: index + 1, type: `WORKFLOW_EXECUTION_${type}` }));
}

const run: RunRead = {
  order: 'a',
  run: 'r',
  events: history('STARTED', 'SIGNALED', 'COMPLETED'),
  signals: ['p'],
  state: 'shipped',
};

const sound: Evidence = {
  orders: [shipping],
  client: [
    { what: 'start', order: 'a', run: 'r' },
    { what: 'signal', order: 'a', run: 'r', value: 'p' },
    { what: 'result', order: 'a', run: 'r', value: 'shipped' },
  ],
  ledger: [capture],
  runs: [run],
};

const refund: LedgerLine = { ...capture, kind: 'refund', activity: '2' };
const { state: _, ...unfinished } = run;

// Each case spoils sound evidence in one way; the judge must name it.
const cases: readonly (readonly [string, Partial<Evidence>, string])[] = [
  ['an acknowledged run is gone', { runs: [] }, 'the engine does not know run r, whose start was'],
  ['an acknowledged signal is gone', { runs: [{ ...run, signals: [] }] }, 'signal p is not in the'],
  ['a result changed', { runs: [{ ...run, state: 'refunded' }] }, 'acknowledged as shipped, the'],
  [
    'a run never ended',
    { runs: [unfinished] },
    'ended with no completion, its facts imply shipped',
  ],
  [
    'an end is not implied',
    { orders: [{ ...shipping, shipsAfterMs: null }] },
    'imply support-case',
  ],
  ['an activity ran twice', { ledger: [capture, capture] }, 'activity 1 of run r was seen twice'],
  ['money was taken twice', { ledger: [capture, { ...capture, activity: '3' }] }, 'of 200 cents'],
  [
    'money was taken for nothing',
    { ledger: [capture, refund] },
    'refund of 100 cents, its facts imply 0',
  ],
  ['no money was taken', { ledger: [{ ...capture, outcome: 'failed' }] }, 'capture of 0 cents'],
  [
    'a second run worked',
    { ledger: [capture, { ...capture, run: 's', kind: 'reserve' }] },
    'run s called',
  ],
  ['an order was never started', { client: [] }, 'its start was never acknowledged'],
  ['nothing was signalled', { client: sound.client.slice(0, 1) }, 'no signals to judge'],
  [
    'a history has a gap',
    { runs: [{ ...run, events: run.events.slice(1) }] },
    'has a gap at event 1',
  ],
  ['a history is open', { runs: [{ ...run, events: history('STARTED') }] }, 'has 0 closing events'],
  [
    'a history closed twice',
    { runs: [{ ...run, events: history('STARTED', 'FAILED', 'COMPLETED') }] },
    '2 closing',
  ],
  [
    'a history goes on',
    { runs: [{ ...run, events: history('STARTED', 'COMPLETED', 'SIGNALED') }] },
    'not the last',
  ],
];

describe('the judge', () => {
  test('passes sound evidence and says how much it judged', () => {
    expect(judge(sound)).toEqual({
      judged: { starts: 1, signals: 1, results: 1, moves: 1 },
      findings: [],
    });
  });

  test('knows what a refunded and a declined order imply', () => {
    const end = (state: string): Partial<Evidence> => ({
      client: sound.client.map((line) =>
        line.what === 'result' ? { ...line, value: state } : line,
      ),
      runs: [{ ...run, state }],
    });
    const gone = { ...shipping, stockMissing: 'for-ever' };
    expect(
      judge({ ...sound, ...end('refunded'), orders: [gone], ledger: [capture, refund] }).findings,
    ).toEqual([]);
    const poor = { ...shipping, card: 'declines' };
    const declined = { ...capture, outcome: 'declined' };
    expect(
      judge({ ...sound, ...end('payment-declined'), orders: [poor], ledger: [declined] }).findings,
    ).toEqual([]);
  });

  for (const [spoilt, change, finding] of cases) {
    test(`finds that ${spoilt}`, () => {
      expect(judge({ ...sound, ...change }).findings.join('\n')).toContain(finding);
    });
  }
});
