import { describe, expect, test } from 'vitest';
import { NOTHING, type OrderTotals } from './ledger/entry.ts';
import type { EndState, Order } from './order.ts';
import { describeReport, reconcile, type Result } from './reconcile.ts';

const base = { item: 'kite', quantity: 1, cents: 100, card: 'pays', stockMissing: 0 } as const;
const orders: Readonly<Record<string, Order>> = {
  shipped: { ...base, id: 'a', shipsAfterMs: 1 },
  refunded: { ...base, id: 'a', shipsAfterMs: 1, stockMissing: 'for-ever' },
  declined: { ...base, id: 'a', shipsAfterMs: 1, card: 'declines' },
  open: { ...base, id: 'a', shipsAfterMs: null },
};

// the order | its result | captured, refunded, reservations, cases | the complaint
const table = `
 shipped  | shipped          | 100   0 1 0 | -
 shipped  | shipped          | 100   0 2 0 | -
 refunded | refunded         | 100 100 0 0 | -
 declined | payment-declined |   0   0 0 0 | -
 open     | support-case     | 100   0 1 1 | -
 open     | support-case     | 100   0 1 2 | -
 shipped  | -                | 100   0 1 0 | a: no result, implied shipped
 shipped  | !timed out       | 100   0 1 0 | a: timed out, implied shipped
 shipped  | support-case     | 100   0 1 1 | a: ended support-case, implied shipped
 shipped  | shipped          | 200   0 1 0 | a: captured 2.00, not 1.00
 shipped  | shipped          |   0   0 1 0 | a: captured 0.00, not 1.00
 shipped  | shipped          | 100   0 0 0 | a: 0 reservations
 refunded | refunded         | 100 200 0 0 | a: refunded 2.00, not 1.00
 refunded | refunded         | 100   0 0 0 | a: refunded 0.00, not 1.00
 declined | payment-declined | 100   0 0 0 | a: captured 1.00, not 0.00
 open     | support-case     | 100   0 1 0 | a: 0 support cases
`;

describe('the reconciliation', () => {
  for (const line of table.trim().split('\n')) {
    const [order = '', said = '', held = '', complaint = ''] = line.split('|').map((c) => c.trim());
    const verdict = complaint === '-' ? 'is content' : `complains "${complaint}"`;
    test(`of a ${order} order that ended ${said} with ${held} ${verdict}`, () => {
      const one = orders[order];
      if (!one) throw new Error(`no such order: ${order}`);
      const report = reconcile([one], { results: results(said), totals: { a: totals(held) } });
      expect(report.wrong[0] ?? '-').toBe(complaint);
    });
  }

  test('complains of sums that differ though each order by itself looks right', () => {
    const open = { ...base, id: 'a', shipsAfterMs: null };
    const report = reconcile([open], { results: new Map(), totals: { a: totals('100 0 1 1') } });
    expect(report.wrong).toContain('the sums: captured 1.00, accounted for 0.00');
    expect(describeReport(report)).toContain('NOT reconciled, 2 wrong');
  });

  test('reports the sums of money', () => {
    const open = { ...base, id: 'a', shipsAfterMs: null };
    const report = reconcile([open], {
      results: results('support-case'),
      totals: { a: totals('100 0 1 1') },
    });
    expect(report.money).toEqual({ captured: 100, shipped: 0, refunded: 0, open: 100 });
    expect(describeReport(report)).toContain('Reconciled');
  });
});

function results(said: string): ReadonlyMap<string, Result> {
  if (said === '-') return new Map();
  return new Map([
    said.startsWith('!')
      ? ['a', { kind: 'failed', reason: said.slice(1) }]
      : ['a', { kind: 'ended', state: said as EndState }],
  ]);
}

function totals(held: string): OrderTotals {
  const [captured = 0, refunded = 0, reservations = 0, cases = 0] = held.split(/ +/).map(Number);
  return { ...NOTHING, captured, refunded, reservations, cases };
}
