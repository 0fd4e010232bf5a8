/**
 * Random sequences of what workers, workflows and clocks may send, in any order, late, twice and early. The rules
 * that hold after each step are those of the files under test; a failure prints its seed and the shortest sequence.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { defaultHistoryLimits } from '../decision.ts';
import { toDuration } from '../durations.ts';
import type { ActivityClaim } from '../input.ts';
import { cancelTimer, isTimerKey, startTimer, timerDue, timerWork } from '../timers.ts';
import type { Work } from '../work.ts';
import { activityTimerDue } from './clocks.ts';
import { isClosing } from './closing.ts';
import { grantHeartbeats, heartbeatActivity } from './heartbeat.ts';
import { requestCancelActivity } from './request-cancel.ts';
import { cancelActivity, completeActivity, failActivity } from './respond.ts';
import { scheduleActivity } from './schedule.ts';
import { startActivity } from './start.ts';
import { Scene, type Outcome } from './testing/scene.ts';
import { activityWork } from './work.ts';

const SEED = 17;
const RUNS = 600;
const identity = 'worker';
const at = { workflowTaskCompletedEventId: 0, identity, limits: defaultHistoryLimits };

const id = fc.constantFrom('a', 'b', 'c');
const small = fc.integer({ min: 0, max: 12 });
const claim = fc.record({
  scheduledEventId: small,
  activityId: id,
  attempt: fc.integer({ min: 0, max: 3 }),
});
const limit = fc.constantFrom(0, 3, 10, 60);
const step = fc.oneof(
  weigh(2, {
    kind: fc.constant('schedule'),
    id,
    most: fc.integer({ min: 0, max: 3 }),
    limits: fc.tuple(limit, limit, limit, limit),
  }),
  weigh(6, { kind: fc.constant('offer'), nth: small, poll: fc.constantFrom('p', 'q') }),
  weigh(6, {
    kind: fc.constant('respond'),
    verb: fc.constantFrom('complete', 'fail', 'fail', 'fail', 'fail-final', 'canceled', 'beat'),
    claim,
    /** Speak for a pending activity with its own token, as most workers do, or for whatever the claim says. */
    honest: fc.boolean(),
    nth: small,
  }),
  weigh(1, { kind: fc.constant('ask'), nth: small }),
  weigh(2, { kind: fc.constant('timer'), id, seconds: small }),
  weigh(2, { kind: fc.constant('cancel-timer'), id }),
  weigh(4, { kind: fc.constant('due'), nth: small }),
  weigh(3, { kind: fc.constant('wait'), seconds: small }),
  weigh(1, { kind: fc.constant('task') }),
  weigh(1, { kind: fc.constant('flush') }),
  weigh(1, { kind: fc.constant('grant') }),
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;
type Input = Exclude<Step, { kind: 'wait' | 'task' | 'flush' }>;

function weigh<const T extends object>(
  weight: number,
  model: { [K in keyof T]: fc.Arbitrary<T[K]> },
) {
  return { weight, arbitrary: fc.record(model) };
}

describe('activities and timers under random input', () => {
  test('close once, count attempts, are never early and never exceed maximum attempts', () => {
    const seen = { closed: 0, retried: 0, fired: 0, obsolete: 0, refused: 0, unbuffered: 0 };
    fc.assert(
      fc.property(fc.array(step, { minLength: 30, maxLength: 80 }), (steps) => {
        const run = new CheckedRun(seen);
        for (const one of steps) run.take(one);
        run.finish();
      }),
      { seed: SEED, numRuns: RUNS },
    );
    // A rule that had no case to judge would pass for nothing.
    expect(Object.entries(seen).filter(([, count]) => count <= 20)).toEqual([]);
  });
});

/** Drives a scene and judges every outcome by what it saw before. */
class CheckedRun {
  readonly #scene = new Scene();
  readonly #seen: Record<string, number>;
  /** Starts by scheduled event id and attempt. */
  readonly #starts = new Map<string, string>();
  readonly #ended = new Set<number>();
  readonly #offers = new Map<string, Extract<Work, { kind: 'activity-task' }>>();
  /** Every clock that was ever armed, the gone ones too: alarms ring late. */
  readonly #alarms = new Map<string, number>();

  constructor(seen: Record<string, number>) {
    this.#seen = seen;
  }

  take(one: Step): void {
    const scene = this.#scene;
    if (one.kind === 'wait') scene.now += one.seconds * 500;
    else if (one.kind === 'task') scene.taskOpen = true;
    else if (one.kind === 'flush') scene.flush();
    else this.#judge(one);
    for (const work of this.#work()) {
      if (work.kind === 'timer') this.#alarms.set(work.key, work.dueAt);
      if (work.kind === 'activity-task') this.#offers.set(work.key, work);
    }
  }

  finish(): void {
    this.#scene.flush();
    const closed = new Set<number>();
    this.#scene.events.forEach((event, index) => {
      if (!isClosing(event)) return;
      const { scheduledEventId = 0, startedEventId = 0 } = event.attributes;
      expect(closed.has(scheduledEventId), `event ${scheduledEventId} closed twice`).toBe(false);
      closed.add(scheduledEventId);
      const before = this.#scene.events[index - 1];
      if (startedEventId === 0) return;
      expect(before?.eventId).toBe(startedEventId);
      expect(before?.attributes).toMatchObject({ scheduledEventId });
    });
    expect([...closed].filter((one) => this.#scene.state.activities.has(one))).toEqual([]);
  }

  #work(): Work[] {
    return [...activityWork(this.#scene.state), ...timerWork(this.#scene.state)];
  }

  #judge(one: Input): void {
    const before = this.#scene.state;
    const outcome = this.#decide(one);
    if (outcome === undefined) return;
    if (outcome.kind !== 'changes' && outcome.kind !== 'unbuffer') {
      this.#count(outcome.kind === 'obsolete' ? 'obsolete' : 'refused');
      return;
    }
    if (outcome.kind === 'unbuffer') this.#count('unbuffered');
    for (const change of outcome.changes)
      if ('event' in change) {
        if (change.event.kind === 'TimerFired') this.#count('fired');
        if (isClosing(change.event)) this.#close(change.event.attributes.scheduledEventId ?? 0);
      } else if (change.patch.kind === 'activity-started') {
        const activity = before.activities.get(change.patch.scheduledEventId);
        const key = `${change.patch.scheduledEventId}:${activity?.attempt}`;
        expect(this.#starts.has(key), `attempt ${key} started twice`).toBe(false);
        this.#starts.set(key, change.patch.requestId);
        const most = activity?.scheduled.retryPolicy?.maximumAttempts ?? 0;
        if (most > 0) expect(activity?.attempt).toBeLessThanOrEqual(most);
      } else if (change.patch.kind === 'activity-retry') {
        this.#count('retried');
        const activity = before.activities.get(change.patch.scheduledEventId);
        expect(change.patch.attempt).toBe((activity?.attempt ?? 0) + 1);
        expect(change.patch.scheduledAt).toBeGreaterThanOrEqual(this.#scene.now);
      }
    this.#scene.take(outcome);
  }

  #close(scheduledEventId: number): void {
    this.#count('closed');
    expect(this.#ended.has(scheduledEventId), `event ${scheduledEventId} ended twice`).toBe(false);
    this.#ended.add(scheduledEventId);
  }

  #decide(one: Input): Outcome | undefined {
    const { state, now } = this.#scene;
    const time = { now, epoch: 1 };
    switch (one.kind) {
      case 'schedule':
        return this.#schedule(one.id, one.most, one.limits);
      case 'offer': {
        // Any offer that was ever made: pollers come late, and two may hold the same one.
        const offer = [...this.#offers.values()][one.nth % Math.max(1, this.#offers.size)];
        return offer && startActivity(state, { ...offer, requestId: one.poll, identity }, time);
      }
      case 'ask': {
        const scheduledEventId = this.#nthPending(one.nth)?.scheduledEventId ?? one.nth;
        const attributes = { scheduledEventId };
        return requestCancelActivity(state, { kind: 'RequestCancelActivityTask', attributes }, at);
      }
      case 'timer': {
        const startToFireTimeout = toDuration(one.seconds * 500);
        const attributes = { timerId: one.id, startToFireTimeout };
        return startTimer(state, { kind: 'StartTimer', attributes }, at);
      }
      case 'cancel-timer':
        return cancelTimer(state, { kind: 'CancelTimer', attributes: { timerId: one.id } }, at);
      case 'due':
        return this.#due(one.nth);
      case 'grant':
        return grantHeartbeats(state, time);
      case 'respond':
        return this.#respond(one.verb, this.#claim(one));
    }
  }

  #schedule(activityId: string, most: number, limits: readonly number[]): Outcome {
    const [close, wait, attempt, beat] = limits.map((one) => toDuration(one * 500));
    return scheduleActivity(
      this.#scene.state,
      {
        kind: 'ScheduleActivityTask',
        attributes: {
          activityId,
          activityType: { name: 'Pay' },
          scheduleToCloseTimeout: close,
          scheduleToStartTimeout: wait,
          startToCloseTimeout: attempt,
          heartbeatTimeout: beat,
          retryPolicy: { maximumAttempts: most },
        },
      },
      at,
    );
  }

  #respond(kind: string, by: ActivityClaim): Outcome {
    const outcome = this.#answer(kind, by);
    const activity = this.#scene.state.activities.get(by.scheduledEventId);
    // A token is good for its own attempt, once that is started.
    if (by.scheduledEventId !== 0 && by.attempt !== 0 && outcome.kind === 'changes')
      expect([activity?.attempt, activity?.started !== undefined]).toEqual([by.attempt, true]);
    return outcome;
  }

  #answer(kind: string, by: ActivityClaim): Outcome {
    const { state, now } = this.#scene;
    const time = { now, epoch: 1 };
    const input = { claim: by, identity };
    const info = { applicationFailureInfo: { nonRetryable: kind === 'fail-final' } };
    switch (kind) {
      case 'complete':
        return completeActivity(state, input, time);
      case 'canceled':
        return cancelActivity(state, input);
      case 'beat':
        return heartbeatActivity(state, input, time);
      default:
        return failActivity(state, { ...input, failure: info }, time);
    }
  }

  /** Rings any alarm that was ever set: it may be early by now, late, or of something gone. */
  #due(nth: number): Outcome | undefined {
    const { state, now } = this.#scene;
    const [key, dueAt = 0] = [...this.#alarms][nth % Math.max(1, this.#alarms.size)] ?? [];
    if (key === undefined) return undefined;
    const outcome = isTimerKey(key) ? timerDue(state, key, now) : activityTimerDue(state, key, now);
    if (now < dueAt) expect(outcome.kind, `${key} came early`).toBe('obsolete');
    return outcome;
  }

  #claim(one: { readonly claim: ActivityClaim; readonly honest: boolean; readonly nth: number }) {
    const pending = this.#nthPending(one.nth);
    if (!one.honest || pending === undefined) return one.claim;
    const { scheduledEventId, attempt } = pending;
    return { scheduledEventId, activityId: '', attempt };
  }

  #nthPending(nth: number) {
    const pending = [...this.#scene.state.activities.values()];
    return pending[nth % Math.max(1, pending.length)];
  }

  #count(what: string): void {
    this.#seen[what] = (this.#seen[what] ?? 0) + 1;
  }
}
