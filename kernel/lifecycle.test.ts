/** Start and stop order, and what happens when a part fails, hangs, or is stopped half-way. */
import { describe, expect, it } from 'vitest';
import { Lifecycle, type Part } from './lifecycle.ts';
import { silentLog } from './log.ts';
import { VirtualClock } from './testing/virtual-clock.ts';

function setUp() {
  const clock = new VirtualClock();
  const steps: string[] = [];
  const lifecycle = new Lifecycle({ clock, log: silentLog });
  const part = (name: string, over: Partial<Part> = {}): Part => ({
    name,
    start: async () => void steps.push(`+${name}`),
    stop: async () => void steps.push(`-${name}`),
    ...over,
  });
  return { clock, steps, lifecycle, part };
}

describe('Lifecycle', () => {
  it('stops in the reverse order of starting', async () => {
    const { steps, lifecycle, part } = setUp();
    for (const name of ['store', 'cell', 'router']) await lifecycle.start(part(name));
    expect(await lifecycle.stop()).toEqual({ kind: 'clean' });
    expect(steps).toEqual(['+store', '+cell', '+router', '-router', '-cell', '-store']);
  });

  it('stops the part whose start failed, and those before it', async () => {
    const { steps, lifecycle, part } = setUp();
    await lifecycle.start(part('store'));
    const start = () => Promise.reject(new Error('port in use'));
    await expect(lifecycle.start(part('cell', { start }))).rejects.toThrow('port in use');
    await lifecycle.stop();
    expect(steps).toEqual(['+store', '-cell', '-store']);
  });

  it('ends a start that waits when stop is called, and starts nothing after', async () => {
    const { steps, lifecycle, part } = setUp();
    const start = () => new Promise<void>(() => {});
    const outcome = lifecycle.start(part('cell', { start })).catch((error: unknown) => error);
    await lifecycle.stop();
    expect(await outcome).toMatchObject({ code: 'cancelled' });
    await expect(lifecycle.start(part('late'))).rejects.toMatchObject({ code: 'cancelled' });
    expect(steps).toEqual(['-cell']);
  });

  it('goes past a part that hangs or throws in its stop, and names both', async () => {
    const { clock, steps, lifecycle, part } = setUp();
    await lifecycle.start(part('a'));
    await lifecycle.start(part('b', { stop: () => new Promise(() => {}), stopTimeoutMs: 500 }));
    await lifecycle.start(part('c', { stop: () => Promise.reject(new Error('no')) }));
    const outcome = lifecycle.stop();
    expect(lifecycle.stop()).toBe(outcome);
    await clock.advanceSettled(500);
    const ended = await outcome;
    expect(ended).toMatchObject({ kind: 'unclean', parts: [{ name: 'c' }, { name: 'b' }] });
    expect(steps.at(-1)).toBe('-a');
    expect(clock.monotonicMs()).toBe(500);
  });
});
