/** The virtual clock: order of alarms, the two times apart, and promises between alarms. */
import { describe, expect, it } from 'vitest';
import { sleep } from '../clock.ts';
import { SeededRng } from './seeded-rng.ts';
import { VIRTUAL_EPOCH_MS, VirtualClock } from './virtual-clock.ts';

describe('VirtualClock', () => {
  it('rings alarms in order of due time, then of setting', () => {
    const clock = new VirtualClock();
    const rung: string[] = [];
    for (const [name, delay] of [
      ['b', 20],
      ['a', 10],
      ['c', 20],
      ['d', 30],
    ] as const) {
      clock.after(delay, () => rung.push(`${name}@${clock.monotonicMs()}`));
    }
    clock.advance(20);
    expect(rung).toEqual(['a@10', 'b@20', 'c@20']);
    expect(clock.pendingAlarms).toEqual([30]);
  });

  it('rings an alarm that an alarm set, when it falls due in the same advance', () => {
    const clock = new VirtualClock();
    const at: number[] = [];
    const tick = () => {
      at.push(clock.monotonicMs());
      clock.after(10, tick);
    };
    clock.after(10, tick);
    clock.advance(35);
    expect(at).toEqual([10, 20, 30]);
    expect(clock.monotonicMs()).toBe(35);
  });

  it('never rings a cancelled alarm, nor inside after', () => {
    const clock = new VirtualClock();
    let rung = 0;
    const cancel = clock.after(0, () => rung++);
    clock.after(-5, () => rung++);
    expect(rung).toBe(0);
    cancel();
    cancel();
    clock.advance(0);
    expect(rung).toBe(1);
  });

  it('lets the wall jump both ways while alarms keep their monotonic time', () => {
    const clock = new VirtualClock();
    let rungAt = -1;
    clock.after(100, () => (rungAt = clock.monotonicMs()));
    clock.jumpWallBy(-60_000);
    expect(clock.now()).toBe(VIRTUAL_EPOCH_MS - 60_000);
    clock.jumpWallBy(120_000);
    clock.advance(99);
    expect(rungAt).toBe(-1);
    clock.advance(1);
    expect(rungAt).toBe(100);
    expect(clock.now()).toBe(VIRTUAL_EPOCH_MS + 60_100);
  });

  it('lets promises go on between alarms when it runs until idle', async () => {
    const clock = new VirtualClock();
    const at: number[] = [];
    const work = async () => {
      for (let i = 0; i < 3; i++) {
        await sleep(clock, 1_000);
        at.push(clock.monotonicMs());
      }
    };
    const done = work();
    expect(await clock.runUntilIdle()).toBe('idle');
    await done;
    expect(at).toEqual([1_000, 2_000, 3_000]);
  });

  it('gives a periodic alarm up at its bound instead of running for ever', async () => {
    const clock = new VirtualClock();
    let ticks = 0;
    const tick = () => {
      ticks++;
      clock.after(10, tick);
    };
    tick();
    expect(await clock.runUntilIdle({ maxMs: 100 })).toBe('max-ms');
    expect(clock.monotonicMs()).toBe(100);
    expect(ticks).toBe(11);
    expect(await clock.runUntilIdle({ maxAlarms: 5 })).toBe('max-alarms');
    expect(ticks).toBe(16);
  });

  it('agrees with a sorted list over random sets and cancels', () => {
    const rng = new SeededRng(7);
    const clock = new VirtualClock();
    const expected: { due: number; id: number }[] = [];
    const rung: number[] = [];
    for (let id = 0; id < 2_000; id++) {
      const due = rng.integer(0, 500);
      const cancel = clock.after(due, () => rung.push(id));
      if (rng.chance(0.6)) cancel();
      else expected.push({ due, id });
    }
    expect(clock.pendingCount).toBe(expected.length);
    clock.advance(500);
    expected.sort((a, b) => a.due - b.due || a.id - b.id);
    expect(rung).toEqual(expected.map((entry) => entry.id));
  });
});
