/**
 * A run reduced to its activities and timers, driven by short sentences, for the tables of tests. It stands in for
 * the draft: it numbers what the sub-machines answer and folds it, and buffers while `task` is open.
 *
 *   schedule sc=60 st=10 ss=5 hb=3 max=2 init=1 no=Fatal    seconds; event 1 is the first scheduled one
 *   start | start again | start other                        poll with request id p, p again, or another
 *   complete | fail Type | fail Type final | fail Type delay=9 | canceled | beat text       by token
 *   complete/id …                                            the same by activity id
 *   ask                                                      the workflow asks to cancel the activity
 *   due StartToClose                                         the clock of that type is due
 *   grant | task | flush | @12                               heartbeats granted, a task opens, ends; time is 12 s
 */
import { WorkflowExecutionStatus } from '../../../../wire/enums.ts';
import type { HistoryEvent } from '../../../../wire/events.ts';
import type { Failure, Payloads } from '../../../../wire/plain.ts';
import { defaultHistoryLimits } from '../../decision.ts';
import type { CommandOutcome, DraftEvent, InputOutcome } from '../../draft-change.ts';
import { BUFFERED_KINDS } from '../../draft-change.ts';
import { toDuration } from '../../durations.ts';
import type { ActivityClaim } from '../../input.ts';
import type { Change } from '../../patch.ts';
import type { BufferedEvent, PendingActivity, RunState } from '../../state.ts';
import { applyTimerChange } from '../../timers.ts';
import { activityTimerDue } from '../clocks.ts';
import { linkStarted } from '../closing.ts';
import { applyActivityChange } from '../fold.ts';
import { grantHeartbeats, heartbeatActivity } from '../heartbeat.ts';
import { requestCancelActivity } from '../request-cancel.ts';
import { cancelActivity, completeActivity, failActivity } from '../respond.ts';
import { scheduleActivity } from '../schedule.ts';
import { startActivity } from '../start.ts';

export type Outcome = CommandOutcome | InputOutcome;

const EPOCH = 1;
const identity = 'worker';

export const emptyRun: RunState = {
  namespaceId: 'n',
  workflowId: 'w',
  runId: 'r',
  transition: 0,
  epoch: EPOCH,
  lineage: [],
  nextEventId: 1,
  historyBytes: 0,
  lastAt: 0,
  status: WorkflowExecutionStatus.Running,
  start: {
    workflowType: 'Order',
    taskQueue: 'orders',
    requestId: '',
    firstRunId: 'r',
    continuedRunId: '',
    attempt: 1,
    startedAt: 0,
    executionAt: 0,
    executionTimeoutMs: 0,
    runTimeoutMs: 0,
    taskTimeoutMs: 10_000,
    executionExpiresAt: 0,
  },
  lastCompletedStartedEventId: 0,
  activities: new Map(),
  timers: new Map(),
  buffered: [],
  cancelRequested: false,
  signalCount: 0,
};

export class Scene {
  state: RunState;
  now = 0;
  taskOpen = false;
  /** The history that a reader would see. */
  readonly events: HistoryEvent[] = [];

  constructor(state: RunState = emptyRun) {
    this.state = state;
  }

  /** Plays sentences that are separated by semicolons, and expects each to be accepted. */
  play(script: string): this {
    for (const sentence of script === '-' ? [] : script.split(';')) {
      const outcome = this.say(sentence.trim());
      if (outcome && outcome.kind !== 'changes' && outcome.kind !== 'unbuffer')
        throw new Error(`"${sentence.trim()}" was not accepted: ${JSON.stringify(outcome)}`);
    }
    return this;
  }

  /** Plays one sentence; its outcome, folded already, or nothing where it only moves time or the task. */
  say(sentence: string): Outcome | undefined {
    const [verb = '', ...words] = sentence.split(' ');
    if (verb.startsWith('@')) this.now = Number(verb.slice(1)) * 1000;
    else if (verb === 'task') this.taskOpen = true;
    else if (verb === 'flush') this.flush();
    else return this.take(this.decide(verb, words));
    return undefined;
  }

  decide(verb: string, words: readonly string[]): Outcome {
    const at = { now: this.now, epoch: EPOCH };
    const [kind = '', byId] = verb.split('/');
    const [first = ''] = words;
    const claim = this.claim(byId === 'id');
    switch (kind) {
      case 'schedule':
        return this.#schedule(new Map(words.map((word) => word.split('=') as [string, string])));
      case 'start': {
        const { scheduledEventId, attempt } = this.claim(false);
        const requestId = first === 'other' ? 'other' : `p${attempt}`;
        return startActivity(this.state, { scheduledEventId, attempt, requestId, identity }, at);
      }
      case 'complete':
        return completeActivity(this.state, { claim, identity }, at);
      case 'fail':
        return failActivity(this.state, { claim, identity, failure: failure(words) }, at);
      case 'canceled':
        return cancelActivity(this.state, { claim, identity });
      case 'beat':
        return heartbeatActivity(this.state, { claim, identity, details: payloads(first) }, at);
      case 'grant':
        return grantHeartbeats(this.state, at);
      case 'ask':
        return requestCancelActivity(
          this.state,
          {
            kind: 'RequestCancelActivityTask',
            attributes: { scheduledEventId: this.claim(false).scheduledEventId },
          },
          { workflowTaskCompletedEventId: 0, identity },
        );
      case 'due': {
        const { scheduledEventId, attempt } = this.claim(false);
        const spans = first === 'ScheduleToClose' ? 0 : attempt;
        return activityTimerDue(this.state, `at:${scheduledEventId}:${spans}:${first}`, this.now);
      }
      default:
        throw new Error(`no such sentence: ${verb} ${words.join(' ')}`);
    }
  }

  /** The newest pending activity's token; what its token would have been where none is pending. */
  claim(byId: boolean): ActivityClaim {
    const activity: PendingActivity | undefined = [...this.state.activities.values()].at(-1);
    if (byId) return { scheduledEventId: 0, activityId: 'a', attempt: 0 };
    return {
      scheduledEventId: activity?.scheduledEventId ?? 1,
      activityId: 'a',
      attempt: activity?.attempt ?? 1,
    };
  }

  /** Folds what an outcome changes. */
  take(outcome: Outcome): Outcome {
    if (outcome.kind === 'unbuffer')
      this.state = {
        ...this.state,
        buffered: this.state.buffered.filter((_, index) => index !== outcome.index),
      };
    if (outcome.kind === 'changes' || outcome.kind === 'unbuffer')
      for (const change of outcome.changes) {
        if ('patch' in change) this.#fold(change.patch);
        else if (this.taskOpen && BUFFERED_KINDS.has(change.event.kind)) this.#buffer(change.event);
        else this.#emit(change.event, this.now);
      }
    return outcome;
  }

  flush(): void {
    const { buffered } = this.state;
    this.taskOpen = false;
    this.state = { ...this.state, buffered: [] };
    for (const event of buffered) this.#emit(event, event.eventTime);
  }

  #schedule(options: ReadonlyMap<string, string>): Outcome {
    const seconds = (name: string) =>
      options.has(name) ? toDuration(Number(options.get(name)) * 1000) : undefined;
    return scheduleActivity(
      this.state,
      {
        kind: 'ScheduleActivityTask',
        attributes: {
          activityId: options.get('id') ?? 'a',
          activityType: { name: options.get('type') ?? 'Pay' },
          scheduleToCloseTimeout: seconds('sc'),
          startToCloseTimeout: seconds('st'),
          scheduleToStartTimeout: seconds('ss'),
          heartbeatTimeout: seconds('hb'),
          retryPolicy: {
            initialInterval: seconds('init'),
            maximumAttempts: Number(options.get('max') ?? 0),
            nonRetryableErrorTypes: options.has('no') ? [options.get('no') ?? ''] : [],
          },
        },
      },
      { workflowTaskCompletedEventId: 0, limits: defaultHistoryLimits },
    );
  }

  #buffer(event: DraftEvent): void {
    const waiting = { ...event, eventTime: this.now, version: EPOCH } as BufferedEvent;
    this.state = { ...this.state, buffered: [...this.state.buffered, waiting] };
    this.#fold({ kind: 'event-buffered', event: waiting });
  }

  #emit(draft: DraftEvent, eventTime: number): void {
    const last = this.events.at(-1);
    const event = {
      ...linkStarted(draft, last && { event: last, eventId: last.eventId }),
      eventId: this.state.nextEventId,
      eventTime,
      version: EPOCH,
    } as HistoryEvent;
    this.events.push(event);
    this.state = { ...this.state, nextEventId: event.eventId + 1 };
    this.#fold(event);
  }

  #fold(change: Change): void {
    this.state = {
      ...this.state,
      activities: applyActivityChange(this.state.activities, change, EPOCH),
      timers: applyTimerChange(this.state.timers, change),
    };
  }
}

export function payloads(text: string): Payloads {
  return { payloads: [{ data: new TextEncoder().encode(text) }] };
}

function failure([type = 'Error', ...words]: readonly string[]): Failure {
  const delay = words.find((word) => word.startsWith('delay='))?.slice('delay='.length);
  return {
    message: type,
    applicationFailureInfo: {
      type,
      nonRetryable: words.includes('final'),
      nextRetryDelay: delay === undefined ? undefined : toDuration(Number(delay) * 1000),
    },
  };
}
