/** The real circuit breaker: opossum behind the port. The one door of opossum; its timers are the machine's. */
import CircuitBreaker from 'opossum';
import type { BreakerOptions, MakeBreaker } from './breaker.ts';

export type OpossumOptions = {
  /** Failed attempts within ten seconds that open it, if they are half of all. */
  readonly failures: number;
  /** How long it is open before it tries again. */
  readonly resetMs: number;
};

/** Breakers that open after that many failures. */
export function opossumBreakers({ failures, resetMs }: OpossumOptions): MakeBreaker {
  return ({ name, tryAgain, onChange }: BreakerOptions) => {
    const breaker = new CircuitBreaker((run: () => Promise<void>) => run(), {
      name,
      timeout: false, // An attempt ends by its own deadline.
      errorThresholdPercentage: 50,
      volumeThreshold: failures,
      resetTimeout: resetMs,
      rollingPercentilesEnabled: false,
      enableSnapshots: false,
    });
    breaker.on('halfOpen', tryAgain);
    breaker.on('open', () => onChange(true));
    breaker.on('close', () => onChange(false));
    return {
      get isOpen() {
        return !breaker.closed;
      },
      attempt: (run) => void breaker.fire(run).catch(() => {}),
      close: () => breaker.shutdown(),
    };
  };
}
