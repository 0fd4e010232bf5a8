/**
 * A client connection that waits out an engine that is down for a while.
 *
 * Place: the driver's only way to the engine.
 *
 * Invariants
 *  1. A call that is repeated is the same request, with the same request id: the engine recognises it, also if the first
 *     one was carried out and only its answer was lost.
 *  2. Every attempt has a deadline of its own; a long poll a longer one.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';

const CALL_DEADLINE_MS = 10_000;
const LONG_POLL_DEADLINE_MS = 70_000;
const MOST_ATTEMPTS = 1_800;
const LONGEST_PAUSE_MS = 1_000;
const A_MOMENT_MS = 100;
const OK = 0;
const DEADLINE_EXCEEDED = 4;
const CANCELLED = 1;
const LONG_POLL = /\/GetWorkflowExecutionHistory$/;

type Interceptor = ReturnType<typeof makeGrpcRetryInterceptor>;

export type Calls = { readonly made: number; readonly failed: number };

/** A connection, and how it is closed while calls may still be waiting to be repeated. */
export type PatientConnection = {
  readonly connection: Connection;
  /** Attempts so far, and those among them that failed, whether repeated or not. */
  readonly calls: Calls;
  /** Repeats nothing any more, and closes once no repetition waits. */
  close(): Promise<void>;
};

/** Connects to a router; a call is repeated for up to about half an hour. */
export async function connectPatiently(address: string): Promise<PatientConnection> {
  const patience = new Patience();
  const connection = await Connection.connect({
    address,
    connectTimeout: '60 seconds',
    interceptors: [patience.retry, patience.deadlinePerAttempt],
    channelArgs: {
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.min_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': LONGEST_PAUSE_MS,
    },
  });
  return {
    connection,
    calls: patience.calls,
    async close() {
      await patience.end();
      await connection.close();
    },
  };
}

/** The interceptors of one connection. A call that is repeated on a closed one would end the process. */
class Patience {
  readonly retry: Interceptor;
  readonly calls = { made: 0, failed: 0 };
  #ended = false;
  #lastPauseEndsAt = 0;

  constructor() {
    const usual = defaultGrpcRetryOptions({ maxAttempts: MOST_ATTEMPTS });
    this.retry = makeGrpcRetryInterceptor({
      delayFunction: (attempt, status) => {
        const pause = usual.delayFunction(Math.min(attempt, 10), status);
        this.#lastPauseEndsAt = performance.now() + LONGEST_PAUSE_MS;
        return Math.min(LONGEST_PAUSE_MS, pause);
      },
      // The SDK does not repeat a call whose deadline passed, since it may have been carried out. Ours are safe to repeat.
      retryableDecider: (attempt, status) => {
        if (this.#ended || status.code === OK) return false;
        this.calls.failed += 1;
        if (usual.retryableDecider(attempt, status)) return true;
        const isOurs = status.code === DEADLINE_EXCEEDED || cutOff(status);
        return attempt < MOST_ATTEMPTS && isOurs;
      },
    });
  }

  readonly deadlinePerAttempt: Interceptor = (options, nextCall) => {
    this.calls.made += 1;
    const longPoll = LONG_POLL.test(options.method_definition.path);
    const within = this.#ended ? 0 : longPoll ? LONG_POLL_DEADLINE_MS : CALL_DEADLINE_MS;
    const deadline = new Date(Date.now() + within);
    // `nextCall` is typed by its interface, but returns the class that interceptors have to return.
    return nextCall({ ...options, deadline }) as ReturnType<Interceptor>;
  };

  /** Resolves once the last pause before a repetition is over. */
  async end(): Promise<void> {
    this.#ended = true;
    const left = this.#lastPauseEndsAt - performance.now();
    if (left > 0) await sleep(left + A_MOMENT_MS);
  }
}

/** A server that went away in the middle of a call: grpc-js reports some of these as CANCELLED. */
function cutOff(status: { code: number; details: string }): boolean {
  return status.code === CANCELLED && /RST_STREAM|stream|connection/i.test(status.details);
}
