/**
 * A database that answers slowly for a while: nothing acknowledged is lost, every call is answered within its deadline with
 * the truth or a typed error, and the cell recovers by itself (issue: bad input). Deadlines and times are those of
 * production divided by about five: "a minute" is twelve seconds.
 */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { useTestServer } from '../cell/storage/sql/testing/test-database.ts';
import type { ShardConfig } from '../cell/shard/config.ts';
import { AtollError } from '../kernel/errors.ts';
import { RawClient } from './behaviours/testing/client.ts';
import { slowProxy, type SlowProxy } from './testing/slow-proxy.ts';
import { startThrowawayCell, type ThrowawayCell } from './testing/throwaway-fleet.ts';
import { until } from './testing/until.ts';

const server = useTestServer();
const SHARD = {
  appendDeadlineMs: 800,
  appendGiveUpMs: 2_000,
  statementDeadlineMs: 1_000,
  cachedRunLimit: 4,
};
const MINUTE_MS = 12_000;
/** What a client allows, and how much later than that its answer may be here: the machine may be busy. */
const PATIENCE_MS = 3_000;
/** Slow, but far from any deadline of production. */
const SLOW_MS = 300;
const GRACE_MS = 2_000;
const CALLERS = 4;

let proxy: SlowProxy;
let cell: ThrowawayCell;
let client: RawClient;

beforeEach(async () => {
  proxy = await slowProxy(await server.freshDatabase());
});
afterEach(async () => {
  proxy.delayAnswers(0);
  await cell.close();
  await proxy.close();
});

/** With the deadlines of production, unless given others. */
async function startCell(shard: Partial<ShardConfig> = {}): Promise<void> {
  const storage = { kind: 'postgres', url: proxy.url } as const;
  cell = await startThrowawayCell(storage, { shards: 8, shard });
  client = new RawClient(cell);
}

type Outcome = {
  readonly workflowId: string;
  readonly runId: string;
  readonly code: string;
  readonly tookMs: number;
};

/** Starts runs from a few callers for a while. */
async function startFor(
  ms: number,
  prefix: string,
  timeoutMs = PATIENCE_MS,
): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  const endAt = performance.now() + ms;
  const caller = async (who: number) => {
    for (let turn = 0; performance.now() < endAt; turn += 1) {
      outcomes.push(await startOne(`${prefix}-${who}-${turn}`, timeoutMs));
      // A refusal may come at once: as real clients, these pause before the next try.
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, (_, who) => caller(who)));
  return outcomes;
}

async function startOne(workflowId: string, timeoutMs = PATIENCE_MS): Promise<Outcome> {
  const begun = performance.now();
  const request = {
    ...{ namespace: 'default', workflowId, requestId: workflowId },
    ...{ workflowType: { name: 'raw' }, taskQueue: { name: client.queue } },
  };
  let runId = '';
  let code = 'ok';
  try {
    ({ runId = '' } = await cell.call('StartWorkflowExecution', request, { timeoutMs }));
  } catch (error) {
    code = error instanceof AtollError ? error.code : String(error);
  }
  return { workflowId, runId, code, tookMs: performance.now() - begun };
}

/** Every acknowledged run is there under its run id, and a refused one is started once by its request id. */
async function expectNothingLost(outcomes: readonly Outcome[]): Promise<void> {
  for (const { workflowId, runId, code } of outcomes) {
    const again = await startOne(workflowId);
    expect(again).toMatchObject(
      code === 'ok' ? { workflowId, code, runId } : { workflowId, code: 'ok' },
    );
    const found = await client.describe(workflowId);
    expect(found.workflowExecutionInfo?.execution?.runId).toBe(again.runId);
    expect(await client.kinds(workflowId)).toBe('Started TaskScheduled');
  }
}

test('a database that is slow, but within the deadlines, makes calls slow and nothing else', async () => {
  await startCell();
  proxy.delayAnswers(SLOW_MS);
  const outcomes = await startFor(MINUTE_MS / 4, 'slow', 20_000);
  expect(outcomes.filter(({ code }) => code !== 'ok')).toEqual([]);
  expect(outcomes.length).toBeGreaterThan(CALLERS);
  proxy.delayAnswers(0);
  await expectNothingLost(outcomes);
});

test('a database that is slower than every deadline for a minute costs answers, but no run', async () => {
  await startCell(SHARD);
  const before = await startFor(500, 'before');
  proxy.delayAnswers(SHARD.appendDeadlineMs * 2);
  const during = await startFor(MINUTE_MS, 'during');
  const refused = during.filter(({ code }) => code !== 'ok');
  expect(refused.length, 'the delay was felt').toBeGreaterThan(0);
  for (const { code, tookMs } of during) {
    expect(['ok', 'unavailable', 'deadline-exceeded', 'resource-exhausted']).toContain(code);
    expect(tookMs).toBeLessThan(PATIENCE_MS + GRACE_MS);
  }
  proxy.delayAnswers(0);
  await until(async () => (await startOne('after')).code === 'ok', { what: 'the recovery' });
  await until(async () => (await startFor(500, 'again')).every(({ code }) => code === 'ok'), {
    what: 'the recovery of every shard',
  });
  await expectNothingLost([...before, ...during]);
});
