/**
 * A circuit breaker as a port: remembers that something is away, so that callers are told at once instead of waiting.
 *
 * Place: round what a caller would have to wait for, such as a connection to a cell (router/upstreams.ts). One breaker
 * for each thing that can be away by itself; `bin/` names the real one.
 *
 * Invariants
 *  1. While it `isOpen` nothing but `tryAgain`'s one attempt is made.
 *  2. After a while of being open it calls `tryAgain`; that attempt's outcome closes it or opens it anew.
 */
export interface Breaker {
  /** Refuse at once. */
  readonly isOpen: boolean;
  /** Makes one attempt, whose outcome counts. Never throws. */
  attempt(run: () => Promise<void>): void;
  /** Ends it: no `tryAgain` follows. */
  close(): void;
}

export type BreakerOptions = {
  /** For logs and metrics. */
  readonly name: string;
  /** Makes one attempt by `attempt`, now. */
  readonly tryAgain: () => void;
  readonly onChange: (isOpen: boolean) => void;
};

export type MakeBreaker = (options: BreakerOptions) => Breaker;

/** Never opens: for tests that are about something else. */
export const noBreaker: MakeBreaker = () => ({
  isOpen: false,
  attempt: (run) => void run().catch(() => {}),
  close: () => {},
});
