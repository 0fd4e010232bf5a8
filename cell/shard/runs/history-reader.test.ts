import { expect, test } from 'vitest';
import type { RunRef } from '../engine.ts';
import { readHistory } from './history-reader.ts';
import { asIs, forever, image, twoCells } from '../testing/two-hosts.ts';
import { wf } from '../testing/shard-lab.ts';

/** `b` decided on `w` in an epoch, and hears then of the branch that `a` began in a later one. */
async function diverged() {
  const cells = await twoCells();
  const { a, b, ship, moveHeard } = cells;
  await a.start('w');
  await ship('a');
  await moveHeard('2@2', 'b');
  for (const request of ['b1', 'b2', 'b3']) await b.signal('w', request);
  await moveHeard('3@3', 'a');
  await a.signal('w', 'a1');
  const won = await image(a, 'w');
  const run = await b.ownership.at(wf('w'), forever, (found) => found.run);
  const { historyId } = run.branch;
  const toEventId = (run.committed?.nextEventId ?? 1) - 1;
  const range = { historyId, fromEventId: 1, toEventId, maxBytes: 1_000_000 };
  return { ...cells, run, won, range };
}

const nothingStored = () => Promise.resolve([]);
const bytesOf = ({ chunks }: { readonly chunks: readonly Uint8Array[] }) => Buffer.concat(chunks);

test('a branch is read as it was after it lost, before and after a checkpoint', async () => {
  const { b, run, won, range } = await diverged();
  const before = await readHistory(run, range, nothingStored);
  expect(await b.shards.replicas().adopt(won, asIs, forever)).toEqual({ kind: 'applied' });
  expect(run.branch.historyId).not.toBe(range.historyId);
  const lost = await readHistory(run, range, nothingStored);
  expect(bytesOf(lost)).toEqual(bytesOf(before));
  expect(lost.toEventId).toBe(range.toEventId);
  await b.settle();
  const { namespaceId, workflowId }: RunRef = run.ref;
  const key = { namespaceId, workflowId, runId: range.historyId };
  const stored = (fromEventId: number, maxBytes: number) =>
    b.store.views.history(b.ownership.shard, key, { fromEventId, maxBytes }, forever);
  expect(bytesOf(await readHistory(run, range, stored))).toEqual(bytesOf(before));
});

test('a read that a branch overtakes ends in the branch in which it began', async () => {
  const { b, run, won, range } = await diverged();
  const before = await readHistory(run, range, nothingStored);
  const first = await readHistory(run, { ...range, maxBytes: 1 }, nothingStored);
  const rest = { ...range, fromEventId: first.toEventId + 1 };
  expect(rest.fromEventId).toBeLessThanOrEqual(range.toEventId);
  await b.shards.replicas().adopt(won, asIs, forever);
  const after = await readHistory(run, rest, nothingStored);
  expect(Buffer.concat([bytesOf(first), bytesOf(after)])).toEqual(bytesOf(before));
});
