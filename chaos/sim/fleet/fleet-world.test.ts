import { describe, expect, it } from 'vitest';
import { startInput } from '../../../cell/history/testing/inputs.ts';
import { Lab } from '../../../cell/history/testing/lab.ts';
import type { RangeId, Seq, ShardId } from '../../../cell/storage/shard-log.ts';
import type { Transition } from '../../../cell/history/transition.ts';
import { encodeRecord } from '../../../cell/shard/log/record-codec.ts';
import type { RunDigest } from '../../../cell/shard/replicas/replicas.ts';
import { encodeEvents } from '../../../wire/event-codec.ts';
import type { Order } from '../client.ts';
import { Journal } from '../journal.ts';
import { toPayloads } from '../order-process.ts';
import { CHECKS, Tally } from '../tally.ts';
import { judgeAsOneCell } from './as-one-cell.ts';
import { checkFleet, type FleetEvidence } from './checkers.ts';
import { FleetChronicle, type Decided } from './fleet-chronicle.ts';
import { FleetWorld } from './fleet-world.ts';
import type { SeenRow } from '../watched-database.ts';
import { FLEET_CHECKS } from './tally.ts';

const RUN = 'run-1';
const ORDER = 'order-1';

function decided(
  cell: string,
  number: number,
  epoch: number,
  changes: Transition['changes'] = [],
): Decided {
  const transition = { namespaceId: 'ns', workflowId: ORDER, runId: RUN, number, epoch, at: 0 };
  return {
    cell,
    atMs: number,
    transition: { ...transition, changes },
    events: new Uint8Array(),
  };
}

function digest(history: string): RunDigest {
  const ref = { namespaceId: 'ns', workflowId: ORDER, runId: RUN };
  return { ...ref, transition: 1, epoch: 1, history, state: 's', execution: 'e' };
}

/** A fleet in which transition 1 was decided in epoch 1 by cell a, and nothing is wrong. */
function evidence(changes: Partial<FleetEvidence> = {}): FleetEvidence {
  return {
    journal: new Journal(),
    chronicle: chronicle([decided('a', 1, 1)]),
    histories: new Map(),
    orders: [],
    ledger: [],
    activeIn: new Map([[1, 'a']]),
    beganMs: new Map(),
    handed: new Map(),
    forced: new Set(),
    losses: [],
    digests: [{ runId: RUN, workflowId: ORDER, a: digest('h'), b: digest('h') }],
    ...changes,
  };
}

function chronicle(all: readonly Decided[], lost: readonly Decided[] = []): FleetChronicle {
  const made = new FleetChronicle([], 'a');
  for (const one of all) {
    const { runId, number, epoch } = one.transition;
    made.decided.set(`${runId}/${number}/${epoch}`, one);
  }
  made.lost.push(...lost);
  return made;
}

function startOf(runId: string, epoch: number): Transition {
  const lab = new Lab();
  lab.epoch = epoch;
  lab.begin(startInput());
  const [made] = lab.transitions.get(lab.runId) ?? [];
  if (!made) throw new Error('nothing was decided');
  return { ...made, runId };
}

/** A shard's rows, one transition each. */
function rows(...stored: readonly (readonly [atMs: number, Transition])[]): Map<number, SeenRow> {
  return new Map(
    stored.map(([atMs, transition], index) => {
      const events = encodeEvents(transition.changes.filter((change) => 'eventId' in change));
      const record = encodeRecord([{ transition, events }]);
      const seq = index + 1;
      const key = { shard: 0 as ShardId, seq: seq as Seq, range: 1 as RangeId };
      const row = { ...key, nonce: new Uint8Array(16), takeover: false, record };
      return [seq, { ...row, atMs, order: seq }];
    }),
  );
}

const judge = (planted: FleetEvidence) => checkFleet(planted, new Tally(FLEET_CHECKS)).join();

function loss(from: number, to: number): FleetEvidence['losses'][number] {
  const names = { rolledBack: [], reapplied: [], mayHaveRunTwice: [] };
  const transitions = { from, to, epoch: 1 };
  const execution = {
    workflowId: ORDER,
    runId: RUN,
    outcome: 'rolled-back' as const,
    transitions,
    ...names,
  };
  return { cell: 'a', namespaceId: 'ns', epoch: 2, execution };
}

type Undeliverable = {
  readonly there: boolean;
  readonly epoch: number;
  readonly lasted: number;
  /** Epoch of a branch of the reporting cell that lost since; 0: none did. */
  readonly gaveWay: number;
  readonly breach: boolean;
};

describe('the checkers of a fleet', () => {
  it('find nothing where nothing is wrong', () => {
    expect(judge(evidence())).toBe('');
  });

  it('P2: a cell decided in an epoch of the other one', () => {
    const bad = evidence({ chronicle: chronicle([decided('b', 1, 1)]) });
    expect(judge(bad)).toContain('P2: cell b decided transition 1');
  });

  it('P5: a cell decided in an epoch that was over by a move, though not by a failover', () => {
    const late = chronicle([decided('a', 1, 1), decided('a', 7, 1)]);
    const after = (flippedMs: number, forced: readonly number[] = []) =>
      judge(
        evidence({
          chronicle: late,
          beganMs: new Map([[2, flippedMs]]),
          forced: new Set(forced),
          digests: [],
        }),
      );
    expect(after(6)).toContain('P5: cell a decided transition 7 of order-1 run-1 in epoch 1');
    expect(after(7)).toBe('');
    expect(after(6, [2])).toBe('');
  });

  it.each`
    handed | breach
    ${1}   | ${true}
    ${2}   | ${false}
  `(
    'P4: a nameless signal that a cell was handed $handed times is twice in a history',
    ({ handed, breach }: { handed: number; breach: boolean }) => {
      const order: Order = {
        ...{ workflowId: ORDER, fate: 'ships' as const, beginsMs: 0, shipWithinMs: 1, ships: true },
        ...{ notes: 1, anonymous: [1], ending: 'none' as const, startsAgain: false },
      };
      const marks = new Map([[`signal ${RUN} ${ORDER}/note-1`, 2]]);
      const history = { workflowId: ORDER, runId: RUN, events: [], marks };
      const planted = evidence({
        orders: [order],
        handed: new Map([[`${ORDER}/note-1`, handed]]),
        histories: new Map([[RUN, history]]),
      });
      const judged = judgeAsOneCell(planted, new Tally(CHECKS)).join();
      expect(judged.includes('is in the history 2 times')).toBe(breach);
    },
  );

  it('P6: a run differs, or is missing in a cell', () => {
    const ref = { runId: RUN, workflowId: ORDER };
    const differs = { ...ref, a: digest('h'), b: digest('other') };
    expect(judge(evidence({ digests: [differs] }))).toContain('differs in history');
    const missing = { ...ref, a: digest('h'), b: undefined };
    expect(judge(evidence({ digests: [missing] }))).toContain('missing in cell b');
  });

  it('P9: a branch gave way to one that does not end in a larger epoch', () => {
    const gone = decided('a', 2, 2);
    const made = chronicle([gone], [gone]);
    const planted = { chronicle: made, forced: new Set([2]), losses: [loss(2, 2)] };
    const activeIn = new Map([[2, 'a']]);
    made.lineages.set(RUN, [{ epoch: 1, transition: 3, eventId: 3 }]);
    expect(judge(evidence({ ...planted, activeIn }))).toContain('a branch that ends in epoch 1');
    made.lineages.set(RUN, [{ epoch: 3, transition: 3, eventId: 3 }]);
    expect(judge(evidence({ ...planted, activeIn }))).toBe('');
  });

  it('P5, P9: a transition is gone although nothing was forced, or no report names it', () => {
    const gone = decided('a', 2, 1);
    const made = chronicle([decided('a', 1, 1), gone], [gone]);
    const forced = new Set([2]);
    expect(judge(evidence({ chronicle: made }))).toContain('P5');
    expect(judge(evidence({ chronicle: made, forced }))).toContain('P9');
    expect(judge(evidence({ chronicle: made, forced, losses: [loss(3, 3)] }))).toContain('P9');
    expect(judge(evidence({ chronicle: made, forced, losses: [loss(2, 3)] }))).toBe('');
  });

  it.each`
    there    | epoch | lasted | gaveWay | breach
    ${true}  | ${2}  | ${2}   | ${0}    | ${true}
    ${true}  | ${2}  | ${1}   | ${0}    | ${false}
    ${true}  | ${1}  | ${2}   | ${0}    | ${false}
    ${false} | ${2}  | ${2}   | ${0}    | ${false}
    ${true}  | ${2}  | ${3}   | ${2}    | ${false}
    ${true}  | ${2}  | ${2}   | ${1}    | ${true}
  `(
    'P9: a signal is called undeliverable by the report to epoch $epoch of 2, it is there: $there, on a branch of epoch $lasted, against which one of epoch $gaveWay lost there',
    ({ there, epoch, lasted, gaveWay, breach }: Undeliverable) => {
      const attributes = { signalName: 'signal', input: toPayloads(`${ORDER}/note-1`) };
      const event = {
        kind: 'WorkflowExecutionSignaled',
        eventId: 5,
        eventTime: 1,
        version: 1,
      } as const;
      const gone = decided('b', 2, 1, [{ ...event, attributes }]);
      const made = chronicle([decided('a', 1, 1), gone], [gone]);
      made.lineages.set(RUN, [{ epoch: lasted, transition: 3, eventId: 9 }]);
      const own = [{ epoch: gaveWay, transition: 3, eventId: 9 }];
      if (gaveWay > 0) made.gaveWay.set(`a/${RUN}`, { lineage: own, atMs: 1 });
      const marks = new Map(there ? [[`signal ${RUN} ${ORDER}/note-1`, 1]] : []);
      const said = loss(2, 2);
      const execution = { ...said.execution, outcome: 'signal-undeliverable' as const };
      const planted = {
        chronicle: made,
        histories: new Map([[RUN, { workflowId: ORDER, runId: RUN, events: [], marks }]]),
        losses: [{ ...said, epoch, execution }],
        forced: new Set([2]),
        activeIn: new Map([
          [1, 'b'],
          [2, 'a'],
        ]),
      };
      expect(judge(evidence(planted)).includes('called undeliverable')).toBe(breach);
    },
  );

  describe.each`
    knew     | forced | breach
    ${true}  | ${[2]} | ${true}
    ${false} | ${[2]} | ${false}
    ${false} | ${[]}  | ${true}
  `(
    'a second run of an id, with the first known there $knew, forced epochs $forced',
    ({ knew, forced, breach }: { knew: boolean; forced: number[]; breach: boolean }) => {
      const first = startOf('run-1', 1);
      const second = startOf('run-2', 2);
      const logs = [
        // At one time: a log has an order, where its rows have none.
        {
          id: 'a',
          shards: [knew ? rows([20, first], [20, second]) : rows([20, second], [20, first])],
        },
        { id: 'b', shards: [rows([10, first])] },
      ];
      const activeIn = new Map([
        [1, 'b'],
        [2, 'a'],
      ]);
      const journal = new Journal();
      const planted = () =>
        evidence({
          chronicle: new FleetChronicle(logs, 'a'),
          activeIn,
          forced: new Set(forced),
          journal,
        });

      it(`P3: ${breach ? 'may not' : 'may'} begin beside it`, () => {
        if (breach) expect(judge(planted())).toContain('P3');
        else expect(judge(planted())).toBe('');
      });

      it(`P4: ${breach ? 'may not' : 'may'} be of the same request`, () => {
        for (const runId of ['run-1', 'run-2']) {
          const about = { workflowId: ORDER, requestId: 'begin', ackedMs: 40 };
          journal.writes.push({ kind: 'start', runId, ...about });
        }
        const judged = judgeAsOneCell(planted(), new Tally(CHECKS)).join();
        expect(judged.includes('request begin was answered with run run-1')).toBe(breach);
      });
    },
  );

  it('P1: an acknowledged signal was neither applied again nor reported', () => {
    const journal = new Journal();
    const about = { workflowId: ORDER, runId: RUN, requestId: 'note', ackedMs: 5 };
    journal.writes.push({ kind: 'signal', ...about });
    const forced = new Set([2]);
    expect(judge(evidence({ journal, forced }))).toContain('neither applied again nor reported');
    const history = {
      workflowId: ORDER,
      runId: RUN,
      events: [],
      marks: new Map([[`signal ${RUN} note`, 1]]),
    };
    expect(judge(evidence({ journal, forced, histories: new Map([[RUN, history]]) }))).toBe('');
  });
});

describe('a simulated fleet', { timeout: 120_000 }, () => {
  it('does the same to the byte when its seed is run again', async () => {
    const once = await new FleetWorld(3).run();
    const again = await new FleetWorld(3).run();
    expect(again.traceHash).toBe(once.traceHash);
    expect(once.events).toBeGreaterThan(1_000);
  });

  it('keeps every promise on a handful of seeds, forced failovers among them', async () => {
    for (const seed of [1, 6, 7, 8]) {
      const { breaches } = await new FleetWorld(seed).run();
      expect(breaches, `npm run sim -- --fleet --seed ${seed}`).toEqual([]);
    }
  });
});
