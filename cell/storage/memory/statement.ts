/**
 * Sends one statement to a database in memory and lets its fate decide what lands and what the caller hears.
 *
 * Invariants
 *  1. The caller hears once: an answer, an error, or its own deadline. Any error leaves open what landed.
 *  2. A statement lands only on the primary that it was sent to.
 */
import type { Clock } from '../../../kernel/clock.ts';
import { AtollError } from '../../../kernel/errors.ts';
import { allowManyListeners } from '../many-listeners.ts';
import type { MemoryDatabase } from './memory-database.ts';
import type { StatementFate } from './store-faults.ts';

export type Sending<Result> = {
  readonly database: MemoryDatabase;
  readonly clock: Clock;
  readonly fate: StatementFate;
  /** Time on the way to the database, in ms. */
  readonly latencyMs: number;
  /** The caller's deadline. */
  readonly signal: AbortSignal;
  /** Aborts when the caller's connection breaks. */
  readonly connection: AbortSignal;
  /** Carries the statement out and passes its result or error on; may do so later (a held key), or never. */
  readonly land: (answer: (result: Result) => void, fail: (error: unknown) => void) => void;
};

export function send<Result>(sending: Sending<Result>): Promise<Result> {
  const { database, clock, fate, latencyMs, signal, connection } = sending;
  const life = database.life;
  const after = (delayMs: number, action: () => void) => {
    if (delayMs <= 0) action();
    else clock.after(delayMs, action);
  };
  return new Promise((resolve, reject) => {
    const stop = new AbortController();
    const hear = (settle: () => void) => {
      stop.abort(null); // Without a reason it would make one, stack trace and all.
      settle();
    };
    const broken = () => hear(() => reject(brokenError()));
    const late = () => hear(() => reject(lateError()));
    if (signal.aborted) return late();
    // One deadline, like one connection, may cover any number of statements.
    allowManyListeners(signal, connection, stop.signal);
    signal.addEventListener('abort', late, { once: true, signal: stop.signal });
    connection.addEventListener('abort', broken, { once: true, signal: stop.signal });
    const fail = (error: unknown) => hear(() => reject(error));
    const land = (delayMs: number, answer: (result: Result) => void, failed = fail) =>
      after(delayMs, () => {
        if (database.life === life) sending.land(answer, failed);
      });
    const breakAfter = (failMs: number | undefined) => {
      if (failMs !== undefined) after(failMs, broken);
    };
    switch (fate.kind) {
      case 'ok': {
        const { landMs = 0, answerMs = 0, echoMs } = fate;
        land(latencyMs + landMs, (result) => after(answerMs, () => hear(() => resolve(result))));
        if (echoMs !== undefined) land(latencyMs + landMs + echoMs, ignore, ignore);
        return;
      }
      case 'lost-reply':
        land(latencyMs + (fate.landMs ?? 0), ignore, ignore);
        return breakAfter(fate.failMs);
      case 'late':
        for (let time = 0; time < (fate.times ?? 1); time += 1) land(fate.landMs, ignore, ignore);
        return breakAfter(fate.failMs);
      case 'lost':
        return breakAfter(fate.failMs);
      case 'rejected':
        return after(latencyMs, () => fail(rejection(fate.reason ?? 'the store refused', 'XX000')));
      case 'conflict':
        return after(latencyMs, () => fail(serializationFailure()));
    }
  });
}

/** 40001: a row that the statement's snapshot did not hold got in its way. */
export function serializationFailure(): AtollError {
  return rejection('could not serialize access due to concurrent update', '40001');
}

/** The server ended the statement: it waited too long for a key. */
export function statementTimeout(): AtollError {
  return rejection('canceling statement due to statement timeout', '57014');
}

function rejection(reason: string, code: string): AtollError {
  return new AtollError('unavailable', `the store failed a statement (${reason})`, {
    cause: Object.assign(new Error(reason), { code }),
  });
}

function brokenError(): AtollError {
  return new AtollError('unavailable', 'the connection to the store is lost');
}

function lateError(): AtollError {
  return new AtollError('deadline-exceeded', 'the store did not answer in time');
}

function ignore(): void {}
