import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Entry } from './entry.ts';

/** A ledger process that is stopped (SIGSTOP) while calls and questions reach it. */
const MAIN = new URL('main.ts', import.meta.url).pathname;
const ORDERS = 20;

let folder: string;
let ledger: ChildProcess;
let url: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ledger-'));
  const args = ['--port', '0', '--journal', join(folder, 'ledger.jsonl')];
  ledger = spawn(process.execPath, ['--import', 'tsx', MAIN, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (!ledger.stdout) throw new Error('the ledger has no output');
  const [line] = (await once(createInterface({ input: ledger.stdout }), 'line')) as [string];
  url = (JSON.parse(line) as { url: string }).url;
});

afterAll(async () => {
  const gone = once(ledger, 'exit');
  ledger.kill('SIGCONT');
  ledger.kill('SIGKILL');
  await gone;
  await rm(folder, { recursive: true });
});

test('a question is not answered before the captures that were given up on earlier', async () => {
  // Connections that are open already: a question on one of them reaches the ledger before a capture that had to connect.
  await Promise.all(Array.from({ length: ORDERS }, () => moved('nobody')));
  ledger.kill('SIGSTOP');
  const orders = Array.from({ length: ORDERS }, (_, index) => `order-${index}`);
  for (const order of orders) expect(await captureGivenUp(order)).toBe('no answer');
  const answers = orders.map(moved);
  ledger.kill('SIGCONT');
  const seen = (await Promise.all(answers)).map((entries) => entries.length);
  expect(seen).toEqual(orders.map(() => 1));
});

/** Gives up once the capture is with the kernel: a stopped ledger reads it after it goes on. */
function captureGivenUp(order: string): Promise<string> {
  const call = { order, cents: 1, workflow: order, run: 'run', activity: '1', attempt: 1 };
  return new Promise((resolve, reject) => {
    // No agent: the capture has to connect, the question has not.
    const sent = request(`${url}/capture`, { method: 'POST', agent: false });
    sent.once('response', () => resolve('answer'));
    sent.once('error', reject);
    sent.end(JSON.stringify(call), () => {
      sent.off('error', reject).on('error', () => resolve('no answer'));
      sent.destroy(new Error('given up'));
    });
  });
}

async function moved(order: string): Promise<readonly Entry[]> {
  const response = await fetch(`${url}/captures/${order}`);
  return (await response.json()) as Entry[];
}
