import { describe, expect, test } from 'vitest';
import { asFile, committedOrders, makeOrders } from './make-orders.ts';
import { impliedEnd, purchaseOf, type Order } from './order.ts';
import { readOrders } from './read-orders.ts';

const plain: Order = {
  id: 'order-1',
  item: 'kite',
  quantity: 1,
  cents: 100,
  card: 'pays',
  stockMissing: 0,
  shipsAfterMs: 10,
};

// card | stock missing | ships | end state
const table = `
 pays                | 0        | yes | shipped
 pays                | 3        | yes | shipped
 pays-answer-lost    | 0        | yes | shipped
 fails-before-taking | 2        | yes | shipped
 pays                | 0        | no  | support-case
 fails-before-taking | 0        | no  | support-case
 pays                | for-ever | yes | refunded
 pays-answer-lost    | for-ever | no  | refunded
 declines            | 0        | yes | payment-declined
 declines            | for-ever | no  | payment-declined
`;

describe('the end state that an order implies', () => {
  for (const line of table.trim().split('\n')) {
    const [card = '', stock = '', ships = '', end = ''] = line.split('|').map((c) => c.trim());
    test(`card ${card}, stock missing ${stock}, ships ${ships}: ${end}`, () => {
      const order: Order = {
        ...plain,
        card: card as Order['card'],
        stockMissing: stock === 'for-ever' ? stock : Number(stock),
        shipsAfterMs: ships === 'yes' ? 10 : null,
      };
      expect(impliedEnd(order)).toBe(end);
    });
  }

  test('the shop is not told the facts', () => {
    expect(Object.keys(purchaseOf(plain)).sort()).toEqual(['cents', 'id', 'item', 'quantity']);
  });
});

describe('the input file', () => {
  test('is what its script makes', async () => {
    expect(asFile(await readOrders())).toBe(committedOrders());
  });

  test('has 1,000 orders, each id once, and at least 20 of each end state', async () => {
    const orders = await readOrders();
    expect(new Set(orders.map((order) => order.id)).size).toBe(1_000);
    const ends = orders.map(impliedEnd);
    for (const end of ['shipped', 'refunded', 'payment-declined', 'support-case'] as const) {
      expect(ends.filter((one) => one === end).length).toBeGreaterThanOrEqual(20);
    }
  });

  test('depends on the seed alone', () => {
    expect(makeOrders(50, 7)).toEqual(makeOrders(50, 7));
    expect(makeOrders(50, 7)).not.toEqual(makeOrders(50, 8));
  });
});
