import { describe, expect, it } from 'vitest';
import { must, twoCells } from '../fleet/conformance/sample.ts';
import type { FleetMap, Placement } from '../fleet/map.ts';
import { withNamespace } from '../fleet/table.ts';
import type { AtollError } from '../kernel/errors.ts';
import { MemoryMetrics } from '../kernel/metrics.ts';
import { VirtualClock } from '../kernel/testing/virtual-clock.ts';
import { DEFAULT_ROUTER_CONFIG, type RouterConfig } from './config.ts';
import { Holds, type HoldRequest } from './holds.ts';
import { routerMetrics } from './router-metrics.ts';

const HANDOVER = { state: { kind: 'handover', moveId: 'm', to: 'west' } } as const;
const ROLLED_BACK = { state: { kind: 'active' } } as const;
const FLIPPED = { ...ROLLED_BACK, active: 'west', epoch: 2 } as const;

describe('calls of a namespace in handover', () => {
  it('are released when the map shows it active elsewhere, in the order of their arrival', () => {
    const { see, hold, log } = setUp();
    see('orders', HANDOVER);
    hold('orders', { arrival: 2 });
    hold('orders', { arrival: 3 });
    hold('orders', { arrival: 1 });
    see('other', { replicas: ['east', 'west'] });
    expect(log).toEqual([]);
    see('orders', FLIPPED);
    expect(log).toEqual(['1 released', '2 released', '3 released']);
  });

  it('are released when the move is rolled back, at the same epoch', () => {
    const { see, hold, log } = setUp();
    see('orders', HANDOVER);
    hold('orders', { arrival: 1 });
    see('orders', ROLLED_BACK);
    expect(log).toEqual(['1 released']);
  });

  it('stay while another move has begun before the end of this one was seen', () => {
    const { see, hold, log } = setUp();
    see('orders', HANDOVER);
    hold('orders', { arrival: 1 });
    see('orders', { ...HANDOVER, active: 'west', epoch: 2 });
    expect(log).toEqual([]);
  });

  it('are released when it is deleted, to find that out', () => {
    const { see, change, hold, log } = setUp();
    see('orders', HANDOVER);
    hold('orders', { arrival: 1 });
    change('orders', { state: 'deleted' });
    expect(log).toEqual(['1 released']);
  });

  it('do not wait for those of another namespace', () => {
    const { see, hold, log } = setUp();
    see('orders', HANDOVER);
    see('other', HANDOVER);
    hold('orders', { arrival: 1 });
    hold('other', { arrival: 2 });
    see('other', FLIPPED);
    expect(log).toEqual(['2 released']);
  });

  it('expire each at its own time, saying where the namespace moves and that nothing was done', () => {
    const { see, hold, log, clock } = setUp();
    see('orders', HANDOVER);
    hold('orders', { arrival: 1, waitMs: 300 });
    hold('orders', { arrival: 2, waitMs: 100 });
    clock.advance(99);
    expect(log).toEqual([]);
    clock.advance(1);
    expect(log).toEqual([
      '2 unavailable: Namespace orders is moving from cell east to cell west; its call was held for 100 ms, as long as it may be. Nothing was done: try again.',
    ]);
    see('orders', FLIPPED);
    clock.advance(1_000);
    expect(log.slice(1)).toEqual(['1 released']);
    expect(clock.pendingCount).toBe(0);
  });

  it('leave 64 in a turn of the loop when they are many, but for those that go away meanwhile', () => {
    const { see, hold, log, clock, metrics } = setUp();
    see('orders', HANDOVER);
    const leaves = Array.from({ length: 150 }, (_, i) => hold('orders', { arrival: 150 - i }));
    see('orders', FLIPPED);
    expect(log).toHaveLength(64);
    expect(metrics.value('router_holds')).toBe(86);
    // Refused again by a cell that is not open yet: it waits for its own turn.
    hold('orders', { arrival: 1, refusals: 1 });
    leaves[0]?.();
    clock.advance(2);
    expect(log).toEqual(Array.from({ length: 149 }, (_, i) => `${i + 1} released`));
    clock.advance(50);
    expect(log.slice(149)).toEqual(['1 released']);
    expect(clock.pendingCount).toBe(0);
  });

  it('have the map asked for now and then, lest its news come late, and no longer than they wait', () => {
    const { see, hold, log, looks, clock } = setUp();
    see('orders', HANDOVER);
    hold('orders', { arrival: 1 });
    hold('orders', { arrival: 2 });
    clock.advance(1_700);
    expect(looks).toEqual([500, 1_000, 1_500]);
    see('orders', FLIPPED);
    clock.advance(60_000);
    expect(looks).toHaveLength(3);
    expect(log).toHaveLength(2);
  });

  it('leave with their client, and are not heard of again', () => {
    const { see, hold, log, clock, metrics } = setUp();
    see('orders', HANDOVER);
    const leave = hold('orders', { arrival: 1 });
    clock.advance(30);
    leave();
    leave();
    expect(metrics.value('router_holds')).toBe(0);
    expect(metrics.value('router_hold_ends_total', { end: 'gone' })).toBe(1);
    see('orders', FLIPPED);
    clock.advance(60_000);
    expect(log).toEqual([]);
    expect(clock.pendingCount).toBe(0);
  });

  it('are counted while they are held and when they end', () => {
    const { see, hold, clock, metrics } = setUp();
    see('orders', HANDOVER);
    hold('orders', { arrival: 1, waitMs: 10 });
    hold('orders', { arrival: 2 });
    expect(metrics.value('router_holds')).toBe(2);
    clock.advance(40);
    see('orders', FLIPPED);
    expect(metrics.value('router_holds')).toBe(0);
    expect(metrics.value('router_held_total')).toBe(2);
    expect(metrics.value('router_hold_ms')).toBe(50);
    expect(metrics.value('router_hold_ends_total', { end: 'released' })).toBe(1);
    expect(metrics.value('router_hold_ends_total', { end: 'expired' })).toBe(1);
  });
});

describe('calls that a cell refused before the map told', () => {
  it('wait for the map once it shows the handover', () => {
    const { see, hold, log, clock } = setUp();
    hold('orders', { arrival: 1, refusals: 1, waitMs: 5_000 });
    see('orders', HANDOVER);
    clock.advance(4_000);
    expect(log).toEqual([]);
    see('orders', FLIPPED);
    expect(log).toEqual(['1 released']);
  });

  it('are sent again after a pause that doubles where the map has nothing new, in order', () => {
    const { hold, log, clock } = setUp();
    const pauses = [1, 2, 3, 4, 5, 6, 7].map((refusals) => {
      hold('orders', { arrival: 2, refusals });
      hold('orders', { arrival: 1, refusals: 1 });
      const before = clock.monotonicMs();
      clock.runNext();
      return clock.monotonicMs() - before;
    });
    expect(pauses).toEqual([50, 100, 200, 400, 800, 1_000, 1_000]);
    expect(log.slice(0, 2)).toEqual(['1 released', '2 released']);
  });

  it('are not sent again by maps that only other namespaces changed in', () => {
    const { see, hold, log } = setUp();
    hold('orders', { arrival: 1, refusals: 1 });
    see('other', HANDOVER);
    expect(log).toEqual([]);
  });
});

describe('a bound on held calls', () => {
  const bounds = {
    heldCallsPerNamespace: 2,
    heldCalls: 3,
    heldBytesPerNamespace: 2_000,
    heldBytes: 3_000,
  };
  const rows: readonly [string, readonly (readonly ['orders' | 'other', number])[], boolean][] = [
    ['heldCallsPerNamespace', list(['orders', 1], ['orders', 1], ['orders', 1]), true],
    ['heldBytesPerNamespace', list(['orders', 1_500], ['orders', 501]), true],
    ['heldCalls', list(['orders', 1], ['orders', 1], ['other', 1], ['other', 1]), false],
    ['heldBytes', list(['orders', 2_000], ['other', 1_001]), false],
  ];
  it.each(rows)('%s refuses the next at once and by name', (bound, calls, ofNamespace) => {
    const { see, hold, clock, refused, metrics } = setUp(bounds);
    see('orders', HANDOVER);
    see('other', HANDOVER);
    for (const [i, [name, bytes]] of calls.entries()) hold(name, { arrival: i + 1, bytes });
    expect(refused).toHaveLength(1);
    expect(refused[0]).toMatchObject({
      code: 'resource-exhausted',
      detail: { value: { scope: ofNamespace ? 1 : 2 } },
    });
    expect(refused[0]?.message).toContain(`(${bound})`);
    expect(metrics.value('router_holds')).toBe(calls.length - 1);
    // What has left makes room.
    clock.advance(60_000);
    hold('orders', { arrival: 99, bytes: 2_000 });
    expect(refused).toHaveLength(1);
  });
});

type Asked = { arrival: number; bytes?: number; waitMs?: number; refusals?: number };

/** Holds over a map of two namespaces, and what became of the calls. */
function setUp(config: Partial<RouterConfig> = {}) {
  const clock = new VirtualClock();
  const metrics = new MemoryMetrics();
  const bounds = { ...DEFAULT_ROUTER_CONFIG, ...config };
  const looks: number[] = [];
  const look = () => looks.push(clock.monotonicMs());
  const holds = new Holds(bounds, { clock, metrics: routerMetrics(metrics).holds, look });
  const log: string[] = [];
  const refused: AtollError[] = [];
  let map: FleetMap = twoCells('orders', 'other');
  const of = (name: string) => {
    const namespace = map.namespaces[`id-of-${name}`];
    if (namespace === undefined) throw new Error(`no namespace ${name}`);
    return namespace;
  };
  const change = (name: string, to: { state: 'deleted' } | { placement: Placement }) => {
    map = must(withNamespace(map, { ...of(name), ...to }));
    holds.onMap(map);
  };
  const see = (name: string, to: Partial<Placement>) =>
    change(name, { placement: { ...of(name).placement, ...to } });
  const hold = (name: string, asked: Asked) => {
    const request: HoldRequest = {
      ...{ namespace: of(name), bytes: 10, waitMs: 10_000, refusals: 0, ...asked },
      release: () => log.push(`${asked.arrival} released`),
      expire: ({ code, message }) => log.push(`${asked.arrival} ${code}: ${message}`),
    };
    const outcome = holds.hold(request);
    if (outcome.kind === 'held') return outcome.leave;
    refused.push(outcome.error);
    return () => {};
  };
  return { clock, metrics, log, looks, refused, see, change, hold };
}

function list(...calls: readonly (readonly ['orders' | 'other', number])[]) {
  return calls;
}
