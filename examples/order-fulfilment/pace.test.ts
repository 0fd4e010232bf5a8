import { PassThrough } from 'node:stream';
import { createInterface } from 'node:readline';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { asTold, type Pace } from './pace.ts';

const { signal } = new AbortController();

function begin(pace: Pace, orders: number): number[] {
  const started: number[] = [];
  for (let index = 0; index < orders; index += 1) {
    void pace(index, signal).then(() => started.push(index));
  }
  return started;
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await nextTurn();
}

test('orders start as far as was told, and all of them at the end', async () => {
  const input = new PassThrough();
  const started = begin(asTold(createInterface({ input })), 5);
  await settle();
  expect(started).toEqual([]);
  input.write('2\n');
  await settle();
  expect(started).toEqual([0, 1]);
  input.write('1\n3\n');
  await settle();
  expect(started).toEqual([0, 1, 2]);
  input.end();
  await settle();
  expect(started).toEqual([0, 1, 2, 3, 4]);
});

test('whoever waits to be told ends with the driver', async () => {
  const stop = new AbortController();
  const pace = asTold(createInterface({ input: new PassThrough() }));
  const waits = pace(0, stop.signal);
  stop.abort(new Error('stopped'));
  await expect(waits).rejects.toThrow('stopped');
  await expect(pace(1, stop.signal)).rejects.toThrow('stopped');
});
