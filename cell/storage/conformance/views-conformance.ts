/** The views: what a checkpoint wrote is what a reader finds. */
import { expect, test } from 'vitest';
import type { Page, RunRow, TaskRow, TimerRow, ViewBatch } from '../views.ts';
import type { StorageHarness, Store } from './harness.ts';
import {
  bytes,
  checkpointOf,
  commit,
  logRow,
  NAMESPACE,
  never,
  OTHER_NAMESPACE,
  runKey,
  seq,
  shard,
  takeOver,
} from './samples.ts';

const S = shard(2);

/** A store that owns shard 2, and a writer of views to it. */
async function owner(harness: StorageHarness): Promise<{
  readonly store: Store;
  readonly write: (views: Partial<ViewBatch>) => Promise<void>;
}> {
  const store = await harness.connect();
  await takeOver(store, S);
  let at = 0;
  const write = async (views: Partial<ViewBatch>) => {
    if (at > 0) await commit(store, logRow([S, at + 1, 1]));
    const moved = await store.log.checkpoint([checkpointOf([S, 1, at, at + 1], { views })], never);
    expect(moved).toEqual([S]);
    at += 1;
  };
  return { store, write };
}

function executionOf({ namespaceId, workflowId }: ReturnType<typeof runKey>) {
  return { namespaceId, workflowId };
}

async function allPages<Row>(
  page: (after: string | undefined) => Promise<Page<Row>>,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (let after: string | undefined; ;) {
    const { rows: some, next } = await page(after);
    rows.push(...some);
    if (next === undefined) return rows;
    after = next;
  }
}

/** @param harness the fresh database of the test that runs */
export function viewsConformance(harness: () => StorageHarness): void {
  test('runs come in the order of their keys, undefined where there is none, and a put replaces', async () => {
    const { store, write } = await owner(harness());
    const [one, two] = [runKey('one'), runKey('two')];
    const row = (key: typeof one, text: string): RunRow => ({
      ...key,
      seq: seq(1),
      open: true,
      state: bytes(text),
    });
    await write({ runs: [row(one, 'a'), row(two, 'b')] });
    await write({ runs: [{ ...row(one, 'c'), seq: seq(2), open: false }] });
    const keys = [two, runKey('none'), one].map((key) => ({ ...key, shard: S }));
    expect(await store.views.runs(keys, never)).toEqual([
      row(two, 'b'),
      undefined,
      { ...row(one, 'c'), seq: seq(2), open: false },
    ]);
    expect(await store.views.runs([], never)).toEqual([]);
  });

  test('a run is not found under another namespace, workflow id or shard', async () => {
    const { store, write } = await owner(harness());
    const key = runKey('w');
    await write({ runs: [{ ...key, seq: seq(1), open: true, state: bytes('s') }] });
    const keys = [
      { ...key, namespaceId: OTHER_NAMESPACE, shard: S },
      { ...key, workflowId: 'other', shard: S },
      { ...key, shard: shard(3) },
    ];
    expect(await store.views.runs(keys, never)).toEqual([undefined, undefined, undefined]);
  });

  test('an execution comes with its ledger by ordinal; puts replace and drops remove by request id', async () => {
    const { store, write } = await owner(harness());
    const { runId: _, ...key } = runKey('w');
    const pointer = { ...key, seq: seq(1), pointer: bytes('p') };
    const entry = (requestId: string, ordinal: number, text: string) => ({
      ...key,
      requestId,
      ordinal,
      entry: bytes(text),
    });
    await write({
      executions: [pointer],
      ledger: { put: [entry('b', 2, 'B'), entry('c', 10, 'C'), entry('a', 1, 'A')], drop: [] },
    });
    await write({
      ledger: { put: [entry('b', 2, 'B2')], drop: [entry('a', 1, 'A'), entry('x', 9, '')] },
    });
    const keys = [{ ...key, workflowId: 'none' }, key].map((each) => ({ ...each, shard: S }));
    expect(await store.views.executions(keys, never)).toEqual([
      undefined,
      { row: pointer, ledger: [entry('b', 2, 'B2'), entry('c', 10, 'C')] },
    ]);
  });

  test('what is gone goes with all that lies under its key, and nothing beside it', async () => {
    const { store, write } = await owner(harness());
    const [gone, kept] = [runKey('gone'), runKey('kept')];
    const all = [gone, kept];
    await write({
      runs: all.map((key) => ({ ...key, seq: seq(1), open: true, state: bytes('s') })),
      executions: all.map((key) => ({ ...executionOf(key), seq: seq(1), pointer: bytes('p') })),
      ledger: {
        put: all.map((key) => ({
          ...executionOf(key),
          requestId: 'r',
          ordinal: 1,
          entry: bytes('e'),
        })),
        drop: [],
      },
      history: all.flatMap((key) =>
        [1, 2].map((id) => ({ ...key, firstEventId: id, lastEventId: id, events: bytes('h') })),
      ),
      tasks: { put: all.map((key) => ({ ...key, work: 'w' })), drop: [] },
    });
    await write({
      gone: { runs: [gone, runKey('absent')], executions: [executionOf(gone)] },
      // Elsewhere in the same statement, rows are written as ever.
      tasks: { put: [{ ...kept, work: 'w2' }], drop: [] },
    });
    const keys = all.map((key) => ({ ...key, shard: S }));
    const runs = await store.views.runs(keys, never);
    expect(runs.map((row) => row?.runId)).toEqual([undefined, kept.runId]);
    const executions = await store.views.executions(keys, never);
    expect(executions.map((found) => found?.ledger.length)).toEqual([undefined, 1]);
    const history = async (key: typeof gone) =>
      (await store.views.history(S, key, { fromEventId: 1, maxBytes: 1e9 }, never)).length;
    expect([await history(gone), await history(kept)]).toEqual([0, 2]);
    const tasks = await store.views.tasks(S, { limit: 10 }, never);
    const left = tasks.rows.map(({ runId, work }) => `${runId} ${work}`).toSorted();
    expect(left).toEqual([`${kept.runId} w`, `${kept.runId} w2`]);
    // A ledger that went with its execution does not come back with a new one.
    await write({ executions: [{ ...executionOf(gone), seq: seq(3), pointer: bytes('p') }] });
    const [again] = await store.views.executions(keys, never);
    expect(again?.ledger).toEqual([]);
  });

  test('history comes by event id from the row that holds the first one, up to the bytes asked for', async () => {
    const { store, write } = await owner(harness());
    const key = runKey('w');
    const chunk = (first: number, last: number, size: number) => ({
      ...key,
      firstEventId: first,
      lastEventId: last,
      events: Buffer.alloc(size, first),
    });
    const chunks = [chunk(1, 3, 100), chunk(4, 4, 100), chunk(5, 11, 1_000), chunk(12, 12, 5)];
    await write({ history: chunks.toReversed() });
    const found = async (fromEventId: number, maxBytes: number) =>
      (await store.views.history(S, key, { fromEventId, maxBytes }, never)).map(
        ({ firstEventId }) => firstEventId,
      );
    expect(await found(1, 1e9)).toEqual([1, 4, 5, 12]);
    expect(await found(2, 200)).toEqual([1, 4]);
    expect(await found(4, 199)).toEqual([4]);
    expect(await found(7, 1)).toEqual([5]);
    expect(await found(12, 1e9)).toEqual([12]);
    expect(await found(13, 1e9)).toEqual([]);
    expect(await store.views.history(S, key, { fromEventId: 4, maxBytes: 1 }, never)).toEqual([
      chunks[1],
    ]);
  });

  test('a history of more rows than one statement reads comes whole', async () => {
    const { store, write } = await owner(harness());
    const key = runKey('w');
    await write({
      history: Array.from({ length: 600 }, (_, index) => ({
        ...key,
        firstEventId: index + 1,
        lastEventId: index + 1,
        events: bytes(`${index}`),
      })),
    });
    const rows = await store.views.history(S, key, { fromEventId: 1, maxBytes: 1e9 }, never);
    expect(rows.map(({ firstEventId }) => firstEventId)).toEqual(
      Array.from({ length: 600 }, (_, index) => index + 1),
    );
  });

  test('timers are paged by due time, also many that are due at once, and dropped by exact key', async () => {
    const { store, write } = await owner(harness());
    const key = runKey('w');
    const timer = (dueAt: number, work: string): TimerRow => ({ ...key, dueAt, work });
    const late = Date.UTC(2100, 0, 1);
    const put = [
      timer(late, 'z'),
      timer(5, 'a'),
      timer(5, 'b'),
      timer(5, 'c'),
      timer(20, 'a'),
      timer(5, 'd'),
    ];
    await write({ timers: { put, drop: [] } });
    const read = () => allPages((after) => store.views.timers(S, { after, limit: 2 }, never));
    const rows = await read();
    expect(rows.map(({ dueAt }) => dueAt)).toEqual([5, 5, 5, 5, 20, late]);
    expect(new Set(rows.map((row) => JSON.stringify(row)))).toEqual(
      new Set(put.map((row) => JSON.stringify(row))),
    );
    const drop = [timer(5, 'b'), timer(20, 'b'), timer(21, 'a')];
    await write({ timers: { put: [timer(5, 'a')], drop } });
    const left = (await read()).map(({ dueAt, work }) => `${dueAt}${work}`);
    expect(left.toSorted()).toEqual(['20a', '5a', '5c', '5d', `${late}z`].toSorted());
  });

  test('tasks are paged and dropped by exact key', async () => {
    const { store, write } = await owner(harness());
    const [one, two] = [runKey('one'), runKey('two')];
    const put: TaskRow[] = ['a', 'b', 'c'].flatMap((work) => [
      { ...one, work },
      { ...two, work },
    ]);
    await write({ tasks: { put, drop: [] } });
    await write({
      tasks: {
        put: [],
        drop: [
          { ...one, work: 'b' },
          { ...two, work: 'none' },
        ],
      },
    });
    const rows = await allPages((after) => store.views.tasks(S, { after, limit: 2 }, never));
    const words = rows.map(({ workflowId, work }) => `${workflowId} ${work}`);
    expect(words.toSorted()).toEqual(['one a', 'one c', 'two a', 'two b', 'two c']);
  });

  test('open runs are paged; closed ones are not among them', async () => {
    const { store, write } = await owner(harness());
    const runs = Array.from({ length: 9 }, (_, index) => ({
      ...runKey(`w${index}`),
      seq: seq(1),
      open: index % 3 !== 0,
      state: bytes(`${index}`),
    }));
    await write({ runs });
    const rows = await allPages((after) => store.views.openRuns(S, { after, limit: 2 }, never));
    expect(rows.map(({ workflowId }) => workflowId).toSorted()).toEqual([
      'w1',
      'w2',
      'w4',
      'w5',
      'w7',
      'w8',
    ]);
    expect(await store.views.openRuns(shard(3), { limit: 2 }, never)).toEqual({ rows: [] });
  });

  test('the runs of a namespace come by page, open and closed, those that changed after a seq', async () => {
    const { store, write } = await owner(harness());
    const row = (key: ReturnType<typeof runKey>, at: number): RunRow => ({
      ...key,
      seq: seq(at),
      open: at % 2 === 0,
      state: bytes(`${at}`),
    });
    const mine = [1, 2, 3, 4, 5].map((at) => row(runKey(`w${at}`), at));
    const foreign = row({ ...runKey('w6'), namespaceId: OTHER_NAMESPACE }, 6);
    await write({ runs: [...mine, foreign] });
    const since = async (afterSeq: number) => {
      const of = { namespaceId: NAMESPACE, afterSeq: seq(afterSeq) };
      const rows = await allPages((after) => store.views.runsOf(S, of, { after, limit: 2 }, never));
      return rows.toSorted((a, b) => a.seq - b.seq);
    };
    expect(await since(0)).toEqual(mine);
    expect(await since(3)).toEqual(mine.slice(3));
    expect(await since(6)).toEqual([]);
  });

  test.each([
    ['quotes and slashes', `it's a "test" \\ / ; -- %_ $1 {} \u0001`],
    ['emoji', '🧯👩‍👩‍👧'],
    ['right to left', 'שלום مرحبا'],
    ['spaces', ' leading and trailing '],
    ['1,000 letters', 'x'.repeat(1_000)],
    ['1,000 characters that do not compress', manyCharacters(1_000)],
  ])('a workflow id of %s comes back as it was, in every view', async (_, workflowId) => {
    const { store, write } = await owner(harness());
    const key = runKey(workflowId);
    const { runId: __, ...execution } = key;
    const ledgerRow = { ...execution, requestId: workflowId, ordinal: 1, entry: bytes('e') };
    const row = { ...execution, seq: seq(1), pointer: bytes('p') };
    await write({
      runs: [{ ...key, seq: seq(1), open: true, state: bytes('s') }],
      executions: [row],
      ledger: { put: [ledgerRow], drop: [] },
      history: [{ ...key, firstEventId: 1, lastEventId: 1, events: bytes('e') }],
      timers: { put: [{ ...key, dueAt: 1, work: workflowId }], drop: [] },
      tasks: { put: [{ ...key, work: workflowId }], drop: [] },
    });
    expect(await store.views.executions([{ ...execution, shard: S }], never)).toEqual([
      { row, ledger: [ledgerRow] },
    ]);
    expect(await store.views.openRuns(S, { limit: 5 }, never)).toMatchObject({ rows: [key] });
    expect(await store.views.timers(S, { limit: 5 }, never)).toMatchObject({
      rows: [{ ...key, work: workflowId }],
    });
    expect(await store.views.tasks(S, { limit: 5 }, never)).toMatchObject({
      rows: [{ ...key, work: workflowId }],
    });
    await write({
      ledger: { put: [], drop: [ledgerRow] },
      timers: { put: [], drop: [{ ...key, dueAt: 1, work: workflowId }] },
      tasks: { put: [], drop: [{ ...key, work: workflowId }] },
    });
    expect(await store.views.timers(S, { limit: 5 }, never)).toEqual({ rows: [] });
    expect(await store.views.tasks(S, { limit: 5 }, never)).toEqual({ rows: [] });
    expect(await store.views.executions([{ ...execution, shard: S }], never)).toEqual([
      { row, ledger: [] },
    ]);
  });
}

/** Four bytes each in UTF-8, so that 1,000 of them are more than an index row can hold. */
function manyCharacters(count: number): string {
  return Array.from({ length: count }, (_, index) =>
    String.fromCodePoint(0x10000 + ((index * 7919) % 0x9000)),
  ).join('');
}
