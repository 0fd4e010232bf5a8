/**
 * The conformance suite of the visibility port: every adapter passes it (visibility.ts, promises 1 to 3).
 * Rows are described by what differs from `SAMPLE`; lists answer with workflow ids.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import type { IndexRow } from '../../history/work.ts';
import { parseQuery } from '../filter/parse.ts';
import type { ListPosition, Visibility } from '../visibility.ts';

const NAMESPACE = '11111111-1111-4111-8111-111111111111';
const OTHER = '22222222-2222-4222-8222-222222222222';
const T0 = Date.parse('2026-01-01T00:00:00Z');
const [RUNNING, COMPLETED, FAILED] = [1, 2, 3];

const SAMPLE: Omit<IndexRow, 'runId' | 'firstRunId'> = {
  namespaceId: NAMESPACE,
  workflowId: 'w',
  version: 1,
  workflowType: 'order',
  taskQueue: 'orders',
  status: RUNNING,
  startedAt: T0,
  executionAt: T0,
  historyLength: 3,
  historyBytes: 300,
};

let ordinal = 0;

function row(change: Partial<IndexRow> = {}): IndexRow {
  const hex = (++ordinal).toString(16).padStart(12, '0');
  const runId = `aaaaaaaa-0000-4000-8000-${hex}`;
  return { ...SAMPLE, runId, firstRunId: runId, ...change };
}

/** `HH:MM` on the first day as ms. */
function at(time: string): number {
  return Date.parse(`2026-01-01T${time}:00Z`);
}

/** Text that has broken somebody's filter before. */
const HARD_IDS = [
  `it's`,
  `"quoted"`,
  `back\\slash\\`,
  `a ? b $1 %s`,
  `'; DROP TABLE visibility; --`,
  `slash/and space`,
  `שלום‏`,
  `😀🏳️‍🌈`,
  `x'`.padEnd(1_000, 'é'),
];

function quote(value: string): string {
  return `'${value.replaceAll('\\', '\\\\').replaceAll(`'`, `''`)}'`;
}

export function visibilityConformance(make: () => Promise<Visibility>): void {
  const signal = new AbortController().signal;
  let visibility: Visibility;

  beforeEach(async () => {
    visibility = await make();
  });

  const list = async (query = '', pageSize = 100, after?: ListPosition) => {
    const { filter } = parseQuery(query);
    return visibility.list({ namespaceId: NAMESPACE, filter, pageSize, after }, signal);
  };
  const ids = async (query = '') => (await list(query)).rows.map((one) => one.workflowId);
  const write = (...rows: readonly IndexRow[]) => visibility.upsert(rows, signal);

  describe('rows', () => {
    it('gives back every field of a row', async () => {
      const payload = {
        metadata: { encoding: new Uint8Array([1]) },
        data: new Uint8Array([0, 255]),
      };
      const full = row({
        closedAt: T0 + 5,
        status: COMPLETED,
        memo: { fields: { note: payload } },
        searchAttributes: { indexedFields: { Custom: payload } },
      });
      const bare = row({ startedAt: T0 - 1 });
      await write(full, bare);
      expect((await list()).rows).toEqual([full, bare]);
    });

    it('converges to the newest version, in whatever order writes come', async () => {
      const open = row({ workflowId: 'a' });
      const closed = { ...open, version: 7, status: COMPLETED, closedAt: T0 + 1 };
      const other = row({ workflowId: 'b', startedAt: T0 - 1 });
      await write(closed);
      await write(open, other, { ...other, version: 3, status: FAILED });
      await write({ ...open, version: 6 });
      expect((await list()).rows.map((one) => [one.version, one.status])).toEqual([
        [7, COMPLETED],
        [3, FAILED],
      ]);
    });

    it('takes the same bulk twice, and an empty one', async () => {
      const bulk = [row({ workflowId: 'a' }), row({ workflowId: 'b', startedAt: T0 - 1 })];
      await write(...bulk);
      await write(...bulk);
      await write();
      expect(await ids()).toEqual(['a', 'b']);
    });

    it('takes a bulk of a thousand rows', async () => {
      await write(...Array.from({ length: 1_000 }, () => row()));
      expect(await visibility.count({ namespaceId: NAMESPACE }, signal)).toBe(1_000);
    });

    it('shows nothing of another namespace', async () => {
      await write(row({ workflowId: 'mine' }), row({ workflowId: 'theirs', namespaceId: OTHER }));
      expect(await ids()).toEqual(['mine']);
      expect(await ids(`WorkflowId = 'theirs' OR WorkflowId != 'theirs'`)).toEqual(['mine']);
      expect(await visibility.count({ namespaceId: OTHER }, signal)).toBe(1);
    });
  });

  describe('pages', () => {
    it('come newest first, then by run id, and show each row once', async () => {
      const rows = [3, 1, 2, 2, 2].map((minutes, index) =>
        row({ workflowId: `w${index}`, startedAt: T0 + minutes }),
      );
      await write(...rows);
      const seen: string[] = [];
      let after: ListPosition | undefined;
      do {
        const page = await list('', 2, after);
        seen.push(...page.rows.map((one) => one.workflowId));
        after = page.next;
      } while (after !== undefined);
      expect(seen).toEqual(['w0', 'w4', 'w3', 'w2', 'w1']);
    });

    it('have no next one when the last row was the last', async () => {
      await write(row(), row());
      expect((await list('', 2)).next).toBeUndefined();
      expect((await list('', 1)).next).toBeDefined();
    });

    it('go on where they were while rows come', async () => {
      const old = [1, 2, 3].map((minutes) =>
        row({ workflowId: `old${minutes}`, startedAt: T0 + minutes }),
      );
      await write(...old);
      const first = await list('', 2);
      await write(row({ workflowId: 'new', startedAt: T0 + 9 }));
      const second = await list('', 2, first.next);
      expect(second.rows.map((one) => one.workflowId)).toEqual(['old1']);
    });
  });

  describe('filters', () => {
    const FILTERS: readonly (readonly [query: string, found: string])[] = [
      [``, 'a b c'],
      [`WorkflowId = 'a'`, 'a'],
      [`WorkflowId = "a"`, 'a'],
      [`WorkflowId != 'a'`, 'b c'],
      [`WorkflowId <> 'a'`, 'b c'],
      [`WorkflowId > 'a' AND WorkflowId <= 'b'`, 'b'],
      [`WorkflowId IN ('a', 'c', 'x')`, 'a c'],
      [`WorkflowId NOT IN ('a', 'c')`, 'b'],
      [`WorkflowType STARTS_WITH 'or'`, 'a b'],
      [`WorkflowType NOT STARTS_WITH 'or'`, 'c'],
      [`WorkflowType STARTS_WITH '%'`, ''],
      [`TaskQueue = 'fast'`, 'c'],
      [`ExecutionStatus = 'Running'`, 'a'],
      [`ExecutionStatus = 1`, 'a'],
      [`executionstatus`, 'refused'],
      [`ExecutionStatus IN ('Completed', "failed")`, 'b c'],
      [`ExecutionStatus != 'Running' AND WorkflowType = 'order'`, 'b'],
      [`StartTime >= '2026-01-01T11:00:00Z'`, 'a b'],
      [`StartTime > '2026-01-01T11:00:00Z'`, 'a'],
      [`StartTime < '2026-01-01T12:00:00+01:00'`, 'c'],
      [`StartTime BETWEEN '2026-01-01T10:00:00Z' AND '2026-01-01T11:00:00Z'`, 'b c'],
      [`StartTime NOT BETWEEN '2026-01-01T10:00:00Z' AND '2026-01-01T11:00:00Z'`, 'a'],
      [`StartTime = ${at('11:00')}000000`, 'b'],
      [`ExecutionTime > '2026-01-01T12:30:00Z'`, 'a'],
      [`CloseTime IS NULL`, 'a'],
      [`CloseTime is not null`, 'b c'],
      [`CloseTime > '2026-01-01T11:45:00Z'`, 'b'],
      [`CloseTime != '2026-01-01T11:30:00Z'`, 'b'],
      [`CloseTime NOT BETWEEN '2026-01-01T11:00:00Z' AND '2026-01-01T11:45:00Z'`, 'b'],
      [`WorkflowId = 'a' OR WorkflowId = 'b' AND TaskQueue = 'fast'`, 'a'],
      [`(WorkflowId = 'a' OR WorkflowId = 'c') AND TaskQueue = 'fast'`, 'c'],
      ["`WorkflowId` = 'b'", 'b'],
      [`RunId = 'not a run'`, ''],
      [`RunId STARTS_WITH 'cccc'`, 'c'],
      [`RunId = 'CCCCCCCC-0000-4000-8000-000000000000'`, 'c'],
      [`RunId IN ('cccccccc-0000-4000-8000-000000000000', 'no')`, 'c'],
      [`RunId != 'cccccccc-0000-4000-8000-000000000000'`, 'a b'],
    ];

    it.each(FILTERS)('%s → %s', async (query, found) => {
      await write(
        row({ workflowId: 'a', startedAt: at('12:00'), executionAt: at('13:00') }),
        row({ workflowId: 'b', startedAt: at('11:00'), status: COMPLETED, closedAt: at('12:00') }),
        row({
          workflowId: 'c',
          startedAt: at('10:00'),
          status: FAILED,
          closedAt: at('11:30'),
          workflowType: 'refund',
          taskQueue: 'fast',
          runId: 'cccccccc-0000-4000-8000-000000000000',
        }),
      );
      const answer = await ids(query).catch(() => ['refused']);
      expect(answer.join(' ')).toBe(found);
    });

    it.each(HARD_IDS)(
      'find the workflow id %j, by itself and by its beginning',
      async (workflowId) => {
        await write(row({ workflowId }), row({ workflowId: 'another' }));
        expect(await ids(`WorkflowId = ${quote(workflowId)}`)).toEqual([workflowId]);
        expect(await ids(`WorkflowId IN (${quote(workflowId)})`)).toEqual([workflowId]);
        const beginning = quote(Array.from(workflowId).slice(0, -1).join(''));
        expect(await ids(`WorkflowId STARTS_WITH ${beginning}`)).toEqual([workflowId]);
      },
    );
  });

  describe('counts', () => {
    it('tell how many runs a filter finds, in all and by status', async () => {
      await write(row(), row({ status: FAILED }), row({ status: FAILED }), row({ taskQueue: 'x' }));
      const { filter } = parseQuery(`TaskQueue = 'orders'`);
      const request = { namespaceId: NAMESPACE, filter };
      expect(await visibility.count(request, signal)).toBe(3);
      const byStatus = await visibility.countByStatus(request, signal);
      expect([...byStatus]).toEqual([
        [RUNNING, 1],
        [FAILED, 2],
      ]);
    });

    it('are zero and empty where nothing is', async () => {
      const request = { namespaceId: NAMESPACE };
      expect(await visibility.count(request, signal)).toBe(0);
      expect((await visibility.countByStatus(request, signal)).size).toBe(0);
    });
  });
}
