import { describe, expect, it } from 'vitest';
import type { RangeId, Seq, ShardId } from '../../cell/storage/shard-log.ts';
import { checkAnswered } from './checkers/answered.ts';
import { checkDurability } from './checkers/durability.ts';
import { checkEnds } from './checkers/ends.ts';
import { checkOnce } from './checkers/once.ts';
import { checkReads } from './checkers/reads.ts';
import { checkTasks } from './checkers/tasks.ts';
import { checkViews } from './checkers/views.ts';
import { encodeBlob } from '../../cell/shard/blob.ts';
import { encodeState } from '../../cell/history/state-codec.ts';
import { Chronicle } from './chronicle.ts';
import { NAMESPACE_ID } from './host.ts';
import type { Evidence } from './evidence.ts';
import { WatchedDatabase } from './watched-database.ts';
import { WorldTime } from './world-time.ts';
import { EVENTS, evidence, rowsOf, RUN, tally, transitions } from './testing/planted.ts';

const who = { workflowId: 'order-1', runId: RUN };
const { STARTED, SIGNALED, COMPLETED } = EVENTS;
const SCHEDULED = {
  ...SIGNALED,
  kind: 'ActivityTaskScheduled',
  attributes: { activityId: 'capture-1', activityType: { name: 'capture' } },
} as const;

const STARTED_ACTIVITY = {
  kind: 'activity-started',
  scheduledEventId: SCHEDULED.eventId,
  at: 5,
  requestId: 'poll',
  identity: 'worker',
} as const;

describe('the checkers', () => {
  it('find nothing in a run that went well, and count what they judged', () => {
    const counts = tally();
    const good = evidence();
    expect(checkAll(good, counts)).toEqual([]);
    expect(counts.counts.get('P1 acknowledged requests')).toBe(2);
    expect(counts.counts.get('P3 runs')).toBe(1);
    expect(counts.counts.get('P7 ended orders')).toBe(1);
  });

  it('P1: an acknowledged signal is missing from the history', () => {
    const bad = evidence({ events: [STARTED, { ...COMPLETED, eventId: 2 }] });
    expect(checkDurability(bad, tally())).toEqual([expect.stringContaining('P1: signal')]);
  });

  it('P1: an acknowledged completion is missing', () => {
    const bad = evidence();
    const completion = {
      kind: 'activity',
      ...who,
      eventId: 0,
      activityId: 'capture-1',
      ackedMs: 5,
    } as const;
    bad.journal.completions.push(completion);
    expect(checkDurability(bad, tally())).toHaveLength(1);
  });

  it.each([
    ['shows what is stored', 2, 2_000, 0],
    ['shows an event before it is stored', 2, 1_999, 1],
    ['shows an event that is never stored', 4, 9_000, 1],
  ])('P1: a workflow task that %s', (_, events, heardMs, breaches) => {
    const seen = evidence();
    seen.journal.tasks.push({ ...who, heardMs, task: { kind: 'workflow-task', events } });
    expect(checkTasks(seen, tally())).toHaveLength(breaches);
  });

  it.each([
    ['after its start was stored', 1, 2_000, 0],
    ['before that', 1, 1_999, 1],
    ['though that attempt was never started', 2, 9_000, 1],
  ])('P1: a worker hears of an activity %s', (_, attempt, heardMs, breaches) => {
    const changes = [SCHEDULED, STARTED_ACTIVITY];
    const steps = transitions()
      .slice(0, 2)
      .map((one) => (one.number === 1 ? one : { ...one, changes }));
    const seen = evidence({ steps });
    const task = { kind: 'activity', activityId: 'capture-1', attempt } as const;
    seen.journal.tasks.push({ ...who, heardMs, task });
    expect(checkTasks(seen, tally())).toHaveLength(breaches);
  });

  it('P3: a second run starts while the first is open', () => {
    const [started] = transitions();
    const [again] = transitions('20000000-0000-4000-8000-000000000002');
    const bad = evidence({ steps: [started, again].flatMap((one) => (one ? [one] : [])) });
    expect(checkOnce(bad, tally()).join()).toContain('P3: run');
  });

  it('P4: a transition is in the log twice, and one is missing', () => {
    const [first, second, third] = transitions();
    const steps = (...some: (typeof first)[]) => some.flatMap((one) => (one ? [one] : []));
    const twice = evidence({ steps: steps(first, second, second, third) });
    expect(checkOnce(twice, tally()).join()).toContain('has transition 2 after 2');
    const gap = evidence({ steps: steps(first, third) });
    expect(checkOnce(gap, tally()).join()).toContain('has transition 3 after 1');
  });

  it('P4: a history has a gap, or a signal twice', () => {
    const gap = evidence({ events: [STARTED, { ...SIGNALED, eventId: 4 }] });
    expect(checkOnce(gap, tally()).join()).toContain('event 4 out of place');
    const twice = evidence({ events: [STARTED, SIGNALED, { ...SIGNALED, eventId: 3 }] });
    expect(checkOnce(twice, tally()).join()).toContain('2 times');
  });

  it('P4: one request is answered with two runs', () => {
    const bad = evidence();
    bad.journal.writes.push({
      kind: 'start',
      workflowId: 'order-1',
      runId: 'another',
      requestId: 'order-1/start-1',
      ackedMs: 9_000,
    });
    expect(checkOnce(bad, tally()).join()).toContain('and with run another');
  });

  it('P4: an activity of one attempt reaches workers twice, or moves money twice', () => {
    const bad = evidence();
    bad.journal.deliveries.push(
      { runId: RUN, activityId: 'capture-1' },
      { runId: RUN, activityId: 'capture-1' },
    );
    expect(checkOnce(bad, tally()).join()).toContain('reached workers twice');
    const call = {
      kind: 'capture',
      order: 'order-1',
      runId: RUN,
      activityId: 'capture-1',
      attempt: 1,
    } as const;
    expect(checkOnce({ ...evidence(), ledger: [call, call] }, tally()).join()).toContain(
      'moved money twice',
    );
  });

  it('P4: a row that cannot be read is a breach, and the rows above it are still read', () => {
    const rows = rowsOf(transitions());
    const second = rows.get(2);
    if (!second) throw new Error('the planted run has fewer rows');
    const bad = new Chronicle([rows.set(2, { ...second, record: new Uint8Array([255]) })], []);
    expect(bad.breaches).toEqual([
      expect.stringContaining('seq 2 cannot be read'),
      expect.stringContaining('has transition 3 after 1'),
    ]);
  });

  it.each([
    ['what is stored', [STARTED, SIGNALED], 0],
    ['an event of another time', [STARTED, { ...SIGNALED, eventTime: 1 }], 1],
    ['another event', [STARTED, { ...COMPLETED, eventId: 2 }], 1],
    ['more than is stored', [STARTED, SIGNALED, COMPLETED, { ...SIGNALED, eventId: 4 }], 1],
  ])('P4: an answer is taken of a worker who saw %s', (_, shown, breaches) => {
    const answered = evidence();
    answered.journal.answered.push({ ...who, shown });
    expect(checkAnswered(answered, tally())).toHaveLength(breaches);
  });

  it('P7: a run stays open, or ends otherwise than its input implies', () => {
    const open = evidence({ steps: transitions().slice(0, 2), events: [STARTED, SIGNALED] });
    expect(checkEnds(open, tally()).join()).toContain('nobody drives it');
    const bad = evidence();
    const wrong = {
      ...bad,
      orders: bad.orders.map((order) => ({ ...order, fate: 'no-stock' as const })),
    };
    expect(checkEnds(wrong, tally()).join()).toContain('its input implies refunded');
  });

  it('P7: money moved for an order whose payment was declined', () => {
    const call = {
      kind: 'capture',
      order: 'order-1',
      runId: RUN,
      activityId: 'capture-1',
      attempt: 1,
    } as const;
    expect(checkEnds({ ...evidence(), ledger: [call] }, tally()).join()).toContain(
      'its payment is not so',
    );
  });

  it.each([
    ['begins after the signal was acknowledged', 2_002, 1],
    ['begins before it', 1_500, 0],
  ])('P13: a describe that shows the start alone and %s', (_, begunMs, breaches) => {
    const read = evidence();
    const seen = { by: 'describe', ...who, events: 1, transitions: 1, closed: false } as const;
    read.journal.runs.push({ ...seen, begunMs, endedMs: begunMs + 1 });
    expect(checkReads(read, tally())).toHaveLength(breaches);
  });

  it.each([
    ['when the second is stored', 2_000, 2, 0],
    ['before the second is stored', 1_999, 2, 1],
    ['of which one never came to be', 9_000, 4, 1],
  ])('P1: a history shows its events %s', (_, endedMs, events, breaches) => {
    const read = evidence();
    const seen = { by: 'history', ...who, events, closed: false } as const;
    read.journal.runs.push({ ...seen, begunMs: endedMs - 1, endedMs });
    expect(checkReads(read, tally())).toHaveLength(breaches);
  });

  it.each([
    ['when it is stored', 2_000, 'order-1/note-1', 0],
    ['before it is stored', 1_999, 'order-1/note-1', 1],
    ['that nobody stored', 9_000, 'order-1/note-2', 1],
  ])('P1: a query sees a signal %s', (_, endedMs, signal, breaches) => {
    const read = evidence();
    const signals = ['order-1/note-1', signal];
    read.journal.queries.push({ ...who, begunMs: endedMs - 1, endedMs, signals });
    expect(checkReads(read, tally())).toHaveLength(breaches);
  });

  it('P13: a query lacks an acknowledged signal', () => {
    const bad = evidence();
    bad.journal.queries.push({ ...who, begunMs: 2_002, endedMs: 2_010, signals: [] });
    expect(checkReads(bad, tally()).join()).toContain('a query saw 0 signals');
  });

  it('P13: a started run is not found, or an open one is called closed', () => {
    const bad = evidence();
    bad.journal.nothing.push({
      ...who,
      by: 'describe',
      isRead: true,
      begunMs: 5_000,
      endedMs: 5_001,
    });
    bad.journal.nothing.push({
      ...who,
      by: 'signal',
      isRead: false,
      begunMs: 2_100,
      endedMs: 2_200,
    });
    bad.journal.nothing.push({
      ...who,
      by: 'signal',
      isRead: false,
      begunMs: 5_000,
      endedMs: 5_001,
    });
    expect(checkReads(bad, tally())).toHaveLength(2);
  });

  it('D4: a row that is not the fold, or a history that is not that of the log', () => {
    const good = evidence();
    const state = good.chronicle.runs.get(RUN)?.state;
    if (!state) throw new Error('the planted run is not in the chronicle');
    const row = { namespaceId: NAMESPACE_ID, ...who, seq: 3 as Seq, open: false };
    const of = (signalCount: number) => ({
      ...row,
      state: encodeBlob(encodeState({ ...state, signalCount })),
    });
    expect(checkViews(good, [of(state.signalCount)], tally())).toEqual([]);
    expect(checkViews(good, [of(7)], tally()).join()).toContain('is not the fold');
    const bad = evidence({ events: [STARTED, SIGNALED] });
    expect(checkViews(bad, [of(state.signalCount)], tally()).join()).toContain(
      'is not that of its log',
    );
  });
});

describe('the watched database (P2)', () => {
  const row = (seq: number, range: number) => ({
    shard: 0 as ShardId,
    seq: seq as Seq,
    range: range as RangeId,
    nonce: new Uint8Array([seq, range]),
    takeover: false,
    record: new Uint8Array(),
  });
  const stored = (...rows: ReturnType<typeof row>[]) => {
    const database = new WatchedDatabase({ clock: new WorldTime(), shardCount: 1 });
    for (const one of rows) database.insert(one);
    return database.breaches.join();
  };

  it.each([
    ['nothing in a log whose ranges only grow', [row(1, 1), row(2, 1), row(3, 2)], ''],
    ['a range that falls', [row(1, 2), row(2, 1)], 'above range 2'],
    ['a hole', [row(1, 1), row(3, 1)], 'over a hole'],
  ])('sees %s', (_, rows, breach) => {
    if (breach === '') expect(stored(...rows)).toBe('');
    else expect(stored(...rows)).toContain(breach);
  });

  it('sees two rows of one seq', () => {
    const database = new WatchedDatabase({ clock: new WorldTime(), shardCount: 1 });
    database.insert(row(1, 1));
    const { log } = database.tables(0 as ShardId);
    database.transact((changes) => changes.set(log, 1, { ...row(1, 2), storedAt: 0 }));
    expect(database.breaches.join()).toContain('had stored another row');
  });
});

function checkAll(given: Evidence, counts: ReturnType<typeof tally>): string[] {
  return [
    ...checkOnce(given, counts),
    ...checkAnswered(given, counts),
    ...checkDurability(given, counts),
    ...checkReads(given, counts),
    ...checkTasks(given, counts),
    ...checkEnds(given, counts),
  ];
}
