/** Lists and counts with odd ids and filters, their pages (BEHAVIOURS 22). */
import { expect, test } from 'vitest';
import { refusal, seconds, until, type RawClient } from './testing/client.ts';
import { useCell } from './testing/use-cell.ts';

const client = useCell();

async function list(c: RawClient, query: string, fields: object = {}) {
  const request = { namespace: c.namespace, query, ...fields };
  return c.cell.call('ListWorkflowExecutions', request);
}

async function idsOf(c: RawClient, query: string): Promise<string[]> {
  const { executions } = await list(c, query);
  return (executions ?? []).map(({ execution }) => execution?.workflowId ?? '');
}

function count(c: RawClient, query: string) {
  return c.cell.call('CountWorkflowExecutions', { namespace: c.namespace, query });
}

/** A backslash escapes, as in the query language of the contract. */
function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}

test.each([
  ['a quote', "o'brien"],
  ['two quotes', "''"],
  ['double quotes', 'say "hi"'],
  ['backslashes', 'a\\b\\'],
  ['slashes and dots', '../../etc/passwd'],
  ['a question mark and percent', 'what? 100% _x_'],
  ['spaces', '  padded  '],
  ['right to left', 'שלום \u202eabc'],
  ['emoji', '🧾 order 👩‍👩‍👧'],
  ['a comment of SQL', "x'; DROP TABLE runs; --"],
  ['a line break', 'a\nb'],
  ['1,000 characters', 'x'.repeat(1_000)],
] as const)('an id with %s is started, described, listed and ended as it is', async (_, id) => {
  const c = client();
  await c.start(id);
  expect((await c.describe(id)).workflowExecutionInfo?.execution?.workflowId).toBe(id);
  await until(async () => (await idsOf(c, `WorkflowId = ${quoted(id)}`)).length > 0);
  expect(await idsOf(c, `WorkflowId = ${quoted(id)}`)).toEqual([id]);
  expect(await idsOf(c, `WorkflowId STARTS_WITH ${quoted(id.slice(0, 2))}`)).toContain(id);
  await c.terminate(id);
  const closed = `WorkflowId = ${quoted(id)} AND ExecutionStatus = 'Terminated'`;
  await until(async () => (await idsOf(c, closed)).length === 1);
});

test('pages hold every run once, whatever starts meanwhile, and a token continues its own list only', async () => {
  const c = client();
  const type = { workflowType: { name: 'paged' } };
  for (let n = 0; n < 25; n += 1) await c.start(`paged-${n}`, type);
  const query = "WorkflowType = 'paged'";
  await until(async () => Number((await count(c, query)).count) === 25);
  const seen: string[] = [];
  let nextPageToken: Uint8Array | undefined;
  do {
    const page = await list(c, query, { pageSize: 10, nextPageToken });
    seen.push(...(page.executions ?? []).map(({ execution }) => execution?.workflowId ?? ''));
    ({ nextPageToken } = page);
    if (seen.length === 10) await c.start('paged-late', type);
  } while (nextPageToken?.length);
  expect(new Set(seen.filter((id) => id !== 'paged-late')).size).toBe(25);
  expect(seen.length).toBeLessThanOrEqual(26);
  const first = await list(c, query, { pageSize: 10 });
  const foreign = list(c, '', { nextPageToken: first.nextPageToken });
  expect(await refusal(foreign)).toMatchObject({ code: 'invalid-argument' });
});

test('statuses are counted by group, and a closed run leaves the open list', async () => {
  const c = client();
  const type = { workflowType: { name: 'grouped' } };
  for (const id of ['g1', 'g2', 'g3']) await c.start(id, type);
  await c.terminate('g1');
  const query = "WorkflowType = 'grouped'";
  await until(async () => (await idsOf(c, `${query} AND CloseTime IS NOT NULL`)).length === 1);
  const { groups } = await count(c, `${query} GROUP BY ExecutionStatus`);
  const counted = (groups ?? []).map(({ groupValues, count: number }) => [
    new TextDecoder().decode(groupValues?.[0]?.data),
    number,
  ]);
  expect(Object.fromEntries(counted)).toEqual({ '"Running"': 2, '"Terminated"': 1 });
  await until(async () => (await idsOf(c, `${query} AND CloseTime IS NULL`)).length === 2);
});

test('times, IN, BETWEEN, OR and brackets mean what they say', async () => {
  const c = client();
  const type = { workflowType: { name: 'times' } };
  await c.start('t1', type);
  await c.start('t2', { ...type, workflowStartDelay: seconds(3_600) });
  await until(async () => Number((await count(c, "WorkflowType = 'times'")).count) === 2);
  const hour = new Date(Date.now() + 1_800_000).toISOString();
  const now = new Date(Date.now() + 60_000).toISOString();
  expect(await idsOf(c, `WorkflowType = 'times' AND ExecutionTime > '${hour}'`)).toEqual(['t2']);
  const between = `StartTime BETWEEN '2020-01-01T00:00:00Z' AND '${now}'`;
  expect(await idsOf(c, `WorkflowId IN ('t1', 'nobody') AND ${between}`)).toEqual(['t1']);
  const either = "(WorkflowId = 't1' OR WorkflowId = 't2') AND ExecutionStatus = 'Running'";
  expect((await idsOf(c, either)).toSorted()).toEqual(['t1', 't2']);
});

test.each([
  ["WorkflowId LIKE 'a%'"],
  ["WorkflowId = 'open"],
  ['WorkflowId ='],
  ["NoSuchAttribute = 'x'"],
  ["StartTime > 'yesterday'"],
  ["ExecutionStatus = 'Finished'"],
  ["((WorkflowId = 'a')"],
  ["WorkflowId = 'a'; DROP TABLE runs"],
  ["WorkflowType = 'a' GROUP BY ExecutionStatus"],
  ['('.repeat(5_000)],
  [`WorkflowId = '${'x'.repeat(100_000)}'`],
] as const)('the filter %.60s is refused with a reason', async (query) => {
  const refused = await refusal(list(client(), query));
  expect(refused.code).toBe('invalid-argument');
  expect(refused.message.length).toBeGreaterThan(10);
});
