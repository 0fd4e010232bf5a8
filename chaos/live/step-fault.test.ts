import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type {
  AppendOutcome,
  Checkpoint,
  LogRow,
  RangeId,
  Seq,
  SessionId,
  ShardId,
  ShardLog,
} from '../../cell/storage/shard-log.ts';
import { STEPS, type Step } from './step.ts';
import { StepFault } from './step-fault.ts';

const never = new AbortController().signal;
const shard = 1 as ShardId;

function row(takeover: boolean): LogRow {
  const bytes = new Uint8Array(1);
  return { shard, seq: 1 as Seq, range: 1 as RangeId, nonce: bytes, takeover, record: bytes };
}

function checkpoint(deleteTo: number): Checkpoint {
  return {
    shard,
    range: 1 as RangeId,
    from: 0 as Seq,
    to: 5 as Seq,
    deleteTo: deleteTo as Seq,
    views: {} as Checkpoint['views'],
  };
}

/** A store that answers on the next turn but one, and keeps what it was asked. */
function fakeStore(outcome: AppendOutcome = { kind: 'committed' }) {
  const asked: string[] = [];
  const later = async <T>(what: string, answer: T): Promise<T> => {
    asked.push(what);
    await nextTurn();
    await nextTurn();
    return answer;
  };
  const log: ShardLog = {
    append: (rows) => later(rows.some((one) => one.takeover) ? 'takeover row' : 'row', [outcome]),
    verify: () => later('verify', { session: 1 as SessionId, verdicts: [] }),
    claim: () => later('claim', 1 as RangeId),
    position: () => later('position', { range: 1 as RangeId, checkpoint: 0 as Seq, end: 0 as Seq }),
    tail: () => later('tail', { range: 1 as RangeId, checkpoint: 0 as Seq, rows: [] }),
    rowsAfter: () => later('rows after', []),
    checkpoint: (batch) =>
      later(
        'checkpoint',
        batch.map((one) => one.shard),
      ),
  };
  return { log, asked };
}

/** Runs a call on a wrapped store: what was reported, what the store was asked, whether the call came back. */
async function run(
  step: Step | undefined,
  call: (log: ShardLog) => Promise<unknown>,
  outcome?: AppendOutcome,
) {
  const { log, asked } = fakeStore(outcome);
  const reported: Step[] = [];
  const fault = new StepFault((reached) => reported.push(reached));
  fault.arm(step);
  let back = false;
  void call(fault.wrap(log)).then(() => (back = true));
  for (let turn = 0; turn < 12; turn += 1) await nextTurn();
  return `${reported.join()} | ${asked.join()} | ${back ? 'back' : 'held'}`;
}

const calls: Readonly<Record<string, (log: ShardLog) => Promise<unknown>>> = {
  append: (log) => log.append([row(false)], 1 as SessionId, never),
  seal: (log) => log.append([row(true)], 1 as SessionId, never),
  claim: (log) => log.claim(shard, never),
  checkpoint: (log) => log.checkpoint([checkpoint(0)], never),
  truncate: (log) => log.checkpoint([checkpoint(5)], never),
};

// call | armed step | reported | asked of the store | the call
const table = `
 append     | append in flight               | reported | row          | held
 append     | append stored and not answered | reported | row          | held
 append     | takeover, row stored           | -        | row          | back
 seal       | append in flight               | -        | takeover row | back
 seal       | takeover, row not sent         | reported |              | held
 seal       | takeover, row stored           | reported | takeover row | held
 claim      | takeover, claimed              | reported | claim        | held
 checkpoint | checkpoint                     | reported | checkpoint   | held
 checkpoint | truncation                     | -        | checkpoint   | back
 truncate   | truncation                     | reported | checkpoint   | held
`;

describe('the step fault', () => {
  for (const line of table.trim().split('\n')) {
    const [call = '', step = '', reported = '', asked = '', end = ''] = line
      .split('|')
      .map((cell) => cell.trim());
    const known = STEPS.find((one) => one === step);
    test(`armed for "${step}", ${call} is ${end}`, async () => {
      const act = calls[call];
      if (!act || !known) throw new Error(`no such call or step: ${line}`);
      expect(await run(known, act)).toBe(`${reported === '-' ? '' : step} | ${asked} | ${end}`);
    });
  }

  test('unarmed it lets everything through', async () => {
    for (const call of Object.values(calls)) expect(await run(undefined, call)).toMatch(/back$/);
  });

  test('an append that was fenced is not "stored"', async () => {
    const fenced: AppendOutcome = { kind: 'fenced', by: 2 as RangeId };
    expect(
      await run(
        'append stored and not answered',
        (log) => log.append([row(false)], 1 as SessionId, never),
        fenced,
      ),
    ).toBe(' | row | back');
  });

  test('only the first call that reaches the step is held', async () => {
    const { log } = fakeStore();
    const reported: Step[] = [];
    const fault = new StepFault((reached) => reported.push(reached));
    fault.arm('append stored and not answered');
    const wrapped = fault.wrap(log);
    void wrapped.append([row(false)], 1 as SessionId, never);
    for (let turn = 0; turn < 6; turn += 1) await nextTurn();
    await expect(wrapped.append([row(false)], 1 as SessionId, never)).resolves.toHaveLength(1);
    expect(reported).toHaveLength(1);
  });

  test('a truncation is reported once, not with each later checkpoint that deletes nothing more', async () => {
    const { log } = fakeStore();
    const reported: Step[] = [];
    const fault = new StepFault((reached) => reported.push(reached));
    const wrapped = fault.wrap(log);
    await wrapped.checkpoint([checkpoint(5)], never);
    fault.arm('truncation');
    await wrapped.checkpoint([checkpoint(5)], never);
    expect(reported).toEqual([]);
  });
});
