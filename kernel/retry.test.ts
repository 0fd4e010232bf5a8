/** Retries on virtual time: how often, how long between, and what ends them. */
import { describe, expect, it } from 'vitest';
import { type Attempt, type BackOff, backOffMs, retry } from './retry.ts';
import { SeededRng } from './testing/seeded-rng.ts';
import { VirtualClock } from './testing/virtual-clock.ts';

const POLICY: BackOff = { name: 'map-load', initialMs: 100, maxMs: 1_000, maxAttempts: 4 };
const failed = (message: string) => ({ kind: 'retry', error: new Error(message) }) as const;

function ports(signal?: AbortSignal) {
  return { clock: new VirtualClock(), rng: new SeededRng(1), signal };
}

describe('backOffMs', () => {
  it('lies between half and all of a doubling wait, up to the longest', () => {
    const rng = new SeededRng(2);
    const ceilings = [100, 200, 400, 800, 1_000, 1_000];
    for (const [index, ceiling] of ceilings.entries()) {
      for (let i = 0; i < 50; i++) {
        const waitMs = backOffMs(POLICY, index + 1, rng);
        expect(waitMs).toBeGreaterThanOrEqual(ceiling / 2);
        expect(waitMs).toBeLessThanOrEqual(ceiling);
      }
    }
    expect(backOffMs(POLICY, 1_000_000, rng)).toBeLessThanOrEqual(1_000);
  });
});

describe('retry', () => {
  it('hands back the first success and tells of each wait', async () => {
    const { clock, rng } = ports();
    const waits: number[] = [];
    const outcome = retry(
      POLICY,
      { clock, rng, onRetry: ({ waitMs }) => waits.push(waitMs) },
      async (attempt): Promise<Attempt<string>> =>
        attempt < 3 ? failed('not yet') : { kind: 'done', value: `attempt ${attempt}` },
    );
    await clock.runUntilIdle();
    expect(await outcome).toBe('attempt 3');
    expect(waits).toHaveLength(2);
    expect(clock.monotonicMs()).toBeCloseTo(waits.reduce((sum, wait) => sum + wait, 0));
  });

  it('gives up after its attempts and says why, with the cause kept', async () => {
    const { clock, rng } = ports();
    let attempts = 0;
    const outcome = retry(POLICY, { clock, rng }, async (attempt) => {
      attempts = attempt;
      return failed('refused');
    }).catch((error: unknown) => error);
    await clock.runUntilIdle();
    expect(await outcome).toMatchObject({
      code: 'unavailable',
      message: 'map-load failed 4 times, the last time because: refused',
      cause: new Error('refused'),
    });
    expect(attempts).toBe(4);
  });

  it('tries nothing again that was fatal', async () => {
    let attempts = 0;
    const fatal = async () => {
      attempts++;
      return { kind: 'fatal', error: new Error('wrong password') } as const;
    };
    await expect(retry(POLICY, ports(), fatal)).rejects.toThrow('wrong password');
    expect(attempts).toBe(1);
  });

  it('stops waiting as soon as the signal aborts', async () => {
    const controller = new AbortController();
    const { clock, rng } = ports();
    const options = { clock, rng, signal: controller.signal };
    const outcome = retry(POLICY, options, async () => failed('down')).catch((e: unknown) => e);
    await clock.advanceSettled(0);
    controller.abort(new Error('stopping'));
    expect(await outcome).toEqual(new Error('stopping'));
    expect(clock.pendingCount).toBe(0);
  });
});
