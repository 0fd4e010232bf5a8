/** Sleep on a clock, and the machine's clock as far as it can be seen without waiting. */
import { describe, expect, it } from 'vitest';
import { sleep, systemClock } from './clock.ts';
import { VirtualClock } from './testing/virtual-clock.ts';

describe('sleep', () => {
  it('resolves when its delay has passed, not before', async () => {
    const clock = new VirtualClock();
    let awake = false;
    void sleep(clock, 100).then(() => (awake = true));
    await clock.advanceSettled(99);
    expect(awake).toBe(false);
    await clock.advanceSettled(1);
    await clock.advanceSettled(0);
    expect(awake).toBe(true);
  });

  it('rejects at once when the signal aborts, and leaves no alarm', async () => {
    const clock = new VirtualClock();
    const controller = new AbortController();
    const outcome = sleep(clock, 100, controller.signal);
    controller.abort(new Error('stopping'));
    await expect(outcome).rejects.toThrow('stopping');
    expect(clock.pendingCount).toBe(0);
  });

  it('rejects without an alarm when the signal had aborted before', async () => {
    const clock = new VirtualClock();
    await expect(sleep(clock, 100, AbortSignal.abort('gone'))).rejects.toThrow('gone');
    expect(clock.pendingCount).toBe(0);
  });
});

describe('systemClock', () => {
  it('reads milliseconds since 1970, and rings even for a delay below zero', async () => {
    expect(systemClock.now()).toBeGreaterThan(Date.UTC(2025, 0, 1));
    await new Promise<void>((resolve) => systemClock.after(-5, resolve));
  });

  it('does not ring at once for a delay beyond what the machine can count', async () => {
    let rung = false;
    const cancel = systemClock.after(2 ** 40, () => (rung = true));
    await new Promise<void>((resolve) => systemClock.after(2, resolve));
    cancel();
    expect(rung).toBe(false);
  });
});
