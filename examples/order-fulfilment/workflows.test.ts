import type * as Common from '@temporalio/common';
import { ActivityFailure, ApplicationFailure } from '@temporalio/common';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { Fulfilment } from './order.ts';

/**
 * The workflow's own decisions, without an engine: activities answer from a script, and what was called is kept.
 * `in doubt` fails as a lost or timed out attempt does; `waiting` answers whether the parcel came in time.
 */
const script = vi.hoisted(() => ({ answers: new Map<string, string[]>(), called: [] as string[] }));

vi.mock('@temporalio/workflow', async () => {
  const common = await vi.importActual<typeof Common>('@temporalio/common');
  const failure = (cause: Error) =>
    new common.ActivityFailure('failed', 'any', '1', 'NON_RETRYABLE_FAILURE', 'worker', cause);
  const answer = (name: string): Promise<unknown> => {
    script.called.push(name);
    const said = script.answers.get(name)?.shift() ?? 'ok';
    if (said === 'in doubt') return Promise.reject(failure(new Error('lost')));
    if (said === 'yes' || said === 'no') return Promise.resolve(said === 'yes');
    if (said === 'ok') return Promise.resolve();
    return Promise.reject(failure(common.ApplicationFailure.nonRetryable('no', said)));
  };
  return {
    ...common,
    proxyActivities: () => new Proxy({}, { get: (_, name) => () => answer(String(name)) }),
    condition: () => answer('waiting'),
    defineSignal: (name: string) => name,
    defineQuery: (name: string) => name,
    setHandler: () => {},
  };
});

const { fulfilOrder } = await import('./workflows.ts');
const purchase = { id: 'order-1', item: 'kite', quantity: 1, cents: 100 };

// what the activities answer, in turn | what is called | the end state
const table = `
 waiting yes                                               | capturePayment reserveStock waiting | shipped
 waiting no                                                | capturePayment reserveStock waiting openSupportCase | support-case
 capturePayment CardDeclined                               | capturePayment | payment-declined
 reserveStock GoneForEver                                  | capturePayment reserveStock refundPayment | refunded
 capturePayment in doubt, hasMoved yes, waiting yes        | capturePayment hasMoved reserveStock waiting | shipped
 capturePayment in doubt, hasMoved no, waiting yes         | capturePayment hasMoved capturePayment reserveStock waiting | shipped
 capturePayment in doubt, hasMoved no, capturePayment CardDeclined | capturePayment hasMoved capturePayment | payment-declined
 reserveStock GoneForEver, refundPayment in doubt, hasMoved yes | capturePayment reserveStock refundPayment hasMoved | refunded
 reserveStock GoneForEver, refundPayment in doubt, hasMoved no  | capturePayment reserveStock refundPayment hasMoved refundPayment | refunded
`;

describe('the order process', () => {
  beforeEach(() => {
    script.answers.clear();
    script.called.length = 0;
  });

  for (const line of table.trim().split('\n')) {
    const [answers = '', calls = '', state = ''] = line.split('|').map((cell) => cell.trim());
    test(`ends ${state} when ${answers}`, async () => {
      say(answers);
      expect((await fulfilOrder(purchase)).state).toBe(state);
      expect(script.called.join(' ')).toBe(calls);
    });
  }

  test('gives a payment up after 20 captures that the ledger does not know', async () => {
    say(Array.from({ length: 20 }, () => 'capturePayment in doubt, hasMoved no').join(', '));
    expect(await fulfilOrder(purchase)).toEqual<Fulfilment>({
      order: 'order-1',
      state: 'payment-failed',
    });
    expect(script.called.filter((name) => name === 'capturePayment')).toHaveLength(20);
  });

  test('passes a failure on that it cannot settle', async () => {
    say('reserveStock NoSuchWarehouse');
    const failed = fulfilOrder(purchase);
    await expect(failed).rejects.toThrow(ActivityFailure);
    await expect(failed).rejects.toMatchObject({ cause: expect.any(ApplicationFailure) });
  });
});

function say(answers: string): void {
  for (const answer of answers.split(', ')) {
    const [name = '', ...said] = answer.split(' ');
    script.answers.set(name, [...(script.answers.get(name) ?? []), said.join(' ')]);
  }
}
