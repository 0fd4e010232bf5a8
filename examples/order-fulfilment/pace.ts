/**
 * When the driver may start its next order.
 *
 * Place: chosen on the driver's command line, waited for by `drive.ts` before each start.
 */
import { setTimeout as sleep } from 'node:timers/promises';

/** Resolves once the order of this number, from 0, may start. Rejects if aborted. */
export type Pace = (index: number, signal: AbortSignal) => Promise<void>;

/** As fast as the engine takes them. */
export const atOnce: Pace = () => Promise.resolve();

/** So many a second, counted from now. */
export function evenly(perSecond: number): Pace {
  const began = performance.now();
  return async (index, signal) => {
    const early = (index / perSecond) * 1_000 - (performance.now() - began);
    if (early > 0) await sleep(early, undefined, { signal });
  };
}

/** As told from outside: each line is the number of orders that may have been started by now. The end lets all start. */
export function asTold(lines: AsyncIterable<string>): Pace {
  let allowed = 0;
  const waiting = new Set<() => void>();
  const allow = (orders: number) => {
    allowed = Math.max(allowed, orders);
    for (const look of [...waiting]) look();
  };
  void (async () => {
    for await (const line of lines) allow(Number(line));
    allow(Number.POSITIVE_INFINITY);
  })();
  return (index, signal) =>
    new Promise((resolve, reject) => {
      const done = (settle: () => void) => {
        waiting.delete(look);
        signal.removeEventListener('abort', give);
        settle();
      };
      const give = () => done(() => reject(signal.reason as Error));
      const look = () => {
        if (index < allowed) done(resolve);
      };
      waiting.add(look);
      signal.addEventListener('abort', give);
      if (signal.aborted) give();
      else look();
    });
}
