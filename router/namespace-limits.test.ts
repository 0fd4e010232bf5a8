import { describe, expect, test } from 'vitest';
import { twoCells } from '../fleet/conformance/sample.ts';
import { namespaceByName } from '../fleet/table.ts';
import { VirtualClock } from '../kernel/testing/virtual-clock.ts';
import { workflowPath } from '../wire/services.ts';
import { NamespaceLimits } from './namespace-limits.ts';

const map = twoCells('orders', 'stock');
const START = workflowPath('StartWorkflowExecution');
const POLL = workflowPath('PollWorkflowTaskQueue');

function namespace(name: string) {
  const found = namespaceByName(map, name);
  if (found === undefined) throw new Error(`no ${name}`);
  return found;
}

describe('namespace limits', () => {
  test('a namespace that asks for too much is told when to come back, and then may', () => {
    const clock = new VirtualClock();
    const limits = new NamespaceLimits(
      { namespaceCallsPerSecond: 100, namespaceStartsPerSecond: 10 },
      clock,
    );
    const orders = namespace('orders');
    for (let i = 0; i < 10; i++) expect(limits.refuse(orders, START)).toBeUndefined();
    const refused = limits.refuse(orders, START);
    expect(refused?.limit).toBe('namespaceStartsPerSecond');
    expect(refused?.error.code).toBe('resource-exhausted');
    expect(refused?.error.trailers).toEqual({ 'grpc-retry-pushback-ms': '100' });
    expect(limits.refuse(orders, POLL), 'other calls go on').toBeUndefined();
    clock.advance(100);
    expect(limits.refuse(orders, START)).toBeUndefined();
  });

  test("one namespace's flood leaves the others their own", () => {
    const limits = new NamespaceLimits(
      { namespaceCallsPerSecond: 5, namespaceStartsPerSecond: 5 },
      new VirtualClock(),
    );
    let refused = 0;
    for (let i = 0; i < 50; i++) if (limits.refuse(namespace('orders'), POLL)) refused += 1;
    expect(refused).toBe(45);
    expect(limits.refuse(namespace('stock'), POLL)).toBeUndefined();
  });

  test('quiet time saves at most one second', () => {
    const clock = new VirtualClock();
    const limits = new NamespaceLimits(
      { namespaceCallsPerSecond: 5, namespaceStartsPerSecond: 5 },
      clock,
    );
    clock.advance(60_000);
    const passed = Array.from({ length: 20 }, () => limits.refuse(namespace('orders'), POLL));
    expect(passed.filter((one) => one === undefined)).toHaveLength(5);
  });
});
