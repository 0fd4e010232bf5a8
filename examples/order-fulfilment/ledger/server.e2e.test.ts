import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Order } from '../order.ts';
import { LedgerClient } from './ask-ledger.ts';
import type { Call, CallKind, Entry } from './entry.ts';
import { startLedger, type Ledger } from './server.ts';

const base = { item: 'kite', quantity: 1, cents: 100, shipsAfterMs: 1, stockMissing: 0 } as const;
const orders: readonly Order[] = [
  { ...base, id: 'plain', card: 'pays' },
  { ...base, id: 'poor', card: 'declines' },
  { ...base, id: 'mute', card: 'pays-answer-lost' },
  { ...base, id: 'shaky', card: 'fails-before-taking' },
  { ...base, id: 'patient', card: 'pays', stockMissing: 2 },
  { ...base, id: 'hopeless', card: 'pays', stockMissing: 'for-ever' },
];

let folder: string;
let ledger: Ledger;
let client: LedgerClient;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ledger-'));
  ledger = await startLedger({ orders, journalPath: join(folder, 'ledger.jsonl'), port: 0 });
  client = new LedgerClient(ledger.url);
});

afterAll(async () => {
  await ledger.close();
  await rm(folder, { recursive: true });
});

function call(order: string, activity = '1'): Call {
  return { order, cents: 100, workflow: order, run: 'run', activity, attempt: 1 };
}

async function outcomes(kind: CallKind, order: string, times: number): Promise<string[]> {
  const seen: string[] = [];
  for (let n = 1; n <= times; n += 1) {
    seen.push(
      await client.call(kind, call(order, String(n))).then(
        (entry) => entry.outcome,
        () => 'no answer',
      ),
    );
  }
  return seen;
}

// order | kind | what its calls come to | captured cents
const table = `
 plain    | capture | done, done                   | 200
 poor     | capture | declined, declined           | 0
 mute     | capture | no answer, done              | 200
 shaky    | capture | no answer, done              | 100
 patient  | reserve | missing, missing, done       | 0
 hopeless | reserve | gone-for-ever, gone-for-ever | 0
 plain    | refund  | done                         | 200
 plain    | case    | done                         | 200
 unknown  | capture | done                         | 100
`;

describe('the ledger', () => {
  for (const line of table.trim().split('\n')) {
    const [order = '', kind = '', expected = '', cents = ''] = line.split('|').map((c) => c.trim());
    test(`plays the facts of ${order}: ${kind} comes to ${expected}`, async () => {
      const seen = await outcomes(kind as CallKind, order, expected.split(', ').length);
      expect(seen.join(', ')).toBe(expected);
      expect((await client.totals())[order]?.captured ?? 0).toBe(Number(cents));
    });
  }

  test('tells which captures took money, also those whose answer was lost', async () => {
    const moved = await client.moved('capture', 'mute');
    expect(moved.map((entry) => entry.activity)).toEqual(['1', '2']);
    expect(await client.moved('capture', 'poor')).toEqual([]);
  });

  test('has every call on disk, numbered without gaps', async () => {
    const lines = (await readFile(join(folder, 'ledger.jsonl'), 'utf8')).trim().split('\n');
    const entries = lines.map((line) => JSON.parse(line) as Entry);
    expect(entries.map((entry) => entry.call)).toEqual(entries.map((_, index) => index + 1));
    expect(entries.length).toBe(ledger.book.calls);
  });

  test('answers an unknown question with a plain 404', async () => {
    const response = await fetch(`${ledger.url}/weather`);
    expect(response.status).toBe(404);
  });
});
