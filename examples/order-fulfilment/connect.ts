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
import { Connection, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';

const CALL_DEADLINE_MS = 10_000;
const LONG_POLL_DEADLINE_MS = 70_000;
const MOST_ATTEMPTS = 240;
const LONGEST_PAUSE_MS = 1_000;
const DEADLINE_EXCEEDED = 4;
const CANCELLED = 1;
const LONG_POLL = /\/GetWorkflowExecutionHistory$/;

type Interceptor = ReturnType<typeof makeGrpcRetryInterceptor>;

/** Connects to a router; waits up to about four minutes for one that is not there. */
export async function connectPatiently(address: string): Promise<Connection> {
  return Connection.connect({
    address,
    connectTimeout: '60 seconds',
    interceptors: [retryWithPatience(), deadlinePerAttempt],
    channelArgs: {
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.min_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': LONGEST_PAUSE_MS,
    },
  });
}

function retryWithPatience(): Interceptor {
  const usual = defaultGrpcRetryOptions({ maxAttempts: MOST_ATTEMPTS });
  return makeGrpcRetryInterceptor({
    delayFunction: (attempt, status) =>
      Math.min(LONGEST_PAUSE_MS, usual.delayFunction(Math.min(attempt, 10), status)),
    // The SDK does not repeat a call whose deadline passed, since it may have been carried out. Ours are safe to repeat.
    retryableDecider: (attempt, status) =>
      usual.retryableDecider(attempt, status) ||
      (attempt < MOST_ATTEMPTS && (status.code === DEADLINE_EXCEEDED || cutOff(status))),
  });
}

/** A server that went away in the middle of a call: grpc-js reports some of these as CANCELLED. */
function cutOff(status: { code: number; details: string }): boolean {
  return status.code === CANCELLED && /RST_STREAM|stream|connection/i.test(status.details);
}

const deadlinePerAttempt: Interceptor = (options, nextCall) => {
  const longPoll = LONG_POLL.test(options.method_definition.path);
  const deadline = new Date(Date.now() + (longPoll ? LONG_POLL_DEADLINE_MS : CALL_DEADLINE_MS));
  // `nextCall` is typed by its interface, but returns the class that interceptors have to return.
  return nextCall({ ...options, deadline }) as ReturnType<Interceptor>;
};
