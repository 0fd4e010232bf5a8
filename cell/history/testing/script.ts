/**
 * A tiny language for tests of the core: a script of a client, workers and clocks, one word or a few a step, run in a
 * lab. Every check of the lab applies at every step.
 *
 *   start [k=v …]          starts the workflow (delay, run, execution, task in seconds; id, reuse, conflict, retry, signal)
 *   poll                   the worker takes the workflow task into its hand;  poll2: a second hand
 *   done [commands]        it completes the task in its hand;  done2 the second hand's
 *   sticky [commands]      likewise, and asks for a sticky queue of 5 s
 *   beat                   it heartbeats: completes with a new task forced
 *   inline [commands]      likewise, and takes the next task and its activities with the answer
 *   failed                 it fails the task in its hand
 *   signal NAME [ID] · cancel [ID] · terminate
 *   take A · finish A · break A · canceled A · hb A    a worker and the activity of id A
 *   wait N                 time goes on by N seconds; every clock that comes due meanwhile rings
 *   crash                  the owner dies: what was memory only is gone
 *   lost                   the sticky worker is gone
 *
 * Commands, joined by "+": act A · act A r (retried) · timer T N · untimer T · unact A · mark M · memo · attr ·
 * complete · fail TYPE · canceling · child
 */
import { invariant } from '../../../kernel/invariant.ts';
import type { Command } from '../../../wire/events.ts';
import type { Decision } from '../decision.ts';
import type { ActivityClaim, RunInput, StartInput } from '../input.ts';
import {
  activity,
  CANCEL,
  cancelActivity,
  cancelTimer,
  COMPLETE,
  failWith,
  marker,
  startInput,
  startTimer,
} from './inputs.ts';
import { Lab } from './lab.ts';
import { completeTask, failTask, pollTask, sayDecision, type TaskInHand } from './worker.ts';

const STICKY = { queue: 'sticky-1', scheduleToStartMs: 5_000 };
const MOST_ALARMS = 1_000;

export class Script {
  readonly lab = new Lab();
  /** What the last step was answered. */
  last = '';
  readonly #hands = new Map<string, TaskInHand>();
  /** Every activity that was ever pending, so that late workers can speak of it. */
  readonly #claims = new Map<string, ActivityClaim & { readonly runId: string }>();
  #serial = 0;

  /** Runs steps separated by commas. */
  run(steps: string): this {
    for (const step of steps.split(',')) this.step(step.trim());
    return this;
  }

  step(step: string): void {
    const [verb = '', ...words] = step.split(' ');
    const decision = this.#do(verb, words, step);
    if (decision) this.last = sayDecision(decision);
    for (const one of this.#pending())
      this.#claims.set(one.scheduled.activityId ?? '', {
        scheduledEventId: one.scheduledEventId,
        activityId: one.scheduled.activityId ?? '',
        attempt: one.attempt,
        runId: this.lab.runId,
      });
  }

  /** The task in a hand. */
  hand(name = ''): TaskInHand {
    const task = this.#hands.get(name);
    invariant(task !== undefined, `no task in hand "${name}"`);
    return task;
  }

  /** Whether a task was ever taken into that hand. */
  holds(name: string): boolean {
    return this.#hands.has(name);
  }

  /** Whether an activity of that id was ever pending. */
  knows(activityId: string): boolean {
    return this.#claims.has(activityId);
  }

  #pending() {
    return this.lab.runId === '' ? [] : [...this.lab.state.activities.values()];
  }

  #do(verb: string, words: readonly string[], step: string): Decision | undefined {
    const { lab } = this;
    const [first = '', second = ''] = words;
    const hand = verb.endsWith('2') ? '2' : '';
    switch (verb) {
      case 'start':
        return lab.begin(this.#startInput(words));
      case 'poll':
      case 'poll2':
        this.#hands.set(hand, pollTask(lab));
        return undefined;
      case 'done':
      case 'done2':
        return completeTask(lab, this.hand(hand), this.#commands(step));
      case 'sticky':
        return completeTask(lab, this.hand(), this.#commands(step), { sticky: STICKY });
      case 'inline':
        return this.#inline(this.#commands(step));
      case 'beat':
        return completeTask(lab, this.hand(), [], { forceNewTask: true });
      case 'failed':
      case 'failed2':
        return failTask(lab, this.hand(hand));
      case 'signal':
        return lab.ask({ kind: 'signal', requestId: second, name: first, identity: 'client' });
      case 'cancel':
        return lab.ask({
          kind: 'request-cancel',
          requestId: first,
          reason: '',
          identity: 'client',
        });
      case 'terminate':
        return lab.ask({ kind: 'terminate', reason: 'enough', identity: 'client' });
      case 'wait':
        return this.#wait(Number(first));
      case 'crash':
        lab.crash();
        return undefined;
      case 'lost':
        return lab.ask({ kind: 'sticky-gone' });
      default:
        return this.#activity(verb, first);
    }
  }

  #activity(verb: string, id: string): Decision {
    const known = this.#claims.get(id);
    invariant(known !== undefined, `no activity "${id}" for "${verb}"`);
    const { runId, ...claim } = known;
    return this.lab.ask(this.#activityInput(verb, claim), runId);
  }

  #activityInput(verb: string, claim: ActivityClaim): RunInput {
    const identity = 'worker';
    const { scheduledEventId, attempt } = claim;
    switch (verb) {
      case 'take': {
        const requestId = `p${(this.#serial += 1)}`;
        return { kind: 'start-activity', scheduledEventId, attempt, requestId, identity };
      }
      case 'finish':
        return { kind: 'complete-activity', claim, identity };
      case 'break':
        return { kind: 'fail-activity', claim, identity, failure: { message: 'x' } };
      case 'canceled':
        return { kind: 'cancel-activity', claim, identity };
      case 'hb':
        return { kind: 'heartbeat-activity', claim, identity };
      default:
        throw new Error(`no such step: ${verb}`);
    }
  }

  #startInput(words: readonly string[]): StartInput {
    const given = new Map(words.map((word) => word.split('=') as [string, string]));
    const number = (name: string) => Number(given.get(name) ?? 0);
    const retries = given.get('retry');
    const signal = given.get('signal');
    const requestId = given.get('id') ?? 'start-1';
    return startInput({
      requestId,
      startDelayMs: number('delay') * 1_000,
      runTimeoutMs: number('run') * 1_000,
      executionTimeoutMs: number('execution') * 1_000,
      taskTimeoutMs: number('task') * 1_000,
      reusePolicy: number('reuse') as StartInput['reusePolicy'],
      conflictPolicy: number('conflict') as StartInput['conflictPolicy'],
      ...(retries === undefined
        ? {}
        : {
            retryPolicy: {
              maximumAttempts: Number(retries),
              nonRetryableErrorTypes: ['Fatal'],
            },
          }),
      ...(signal === undefined ? {} : { signal: { requestId, name: signal, identity: 'client' } }),
    });
  }

  #commands(step: string): Command[] {
    const text = step.replace(/^\S+\s*/u, '');
    return text === '' ? [] : text.split('+').map((one) => this.#command(one.trim()));
  }

  #command(text: string): Command {
    const [verb = '', first = '', second = ''] = text.split(' ');
    switch (verb) {
      case 'act':
        return activity(first, second === 'r' ? {} : { retryPolicy: { maximumAttempts: 1 } });
      case 'unact':
        return cancelActivity(this.#claims.get(first)?.scheduledEventId ?? Number(first));
      case 'timer':
        return startTimer(first, Number(second));
      case 'untimer':
        return cancelTimer(first);
      case 'mark':
        return marker(first);
      case 'memo':
        return {
          kind: 'ModifyWorkflowProperties',
          attributes: { upsertedMemo: { fields: { note: { data: new Uint8Array([1]) } } } },
        };
      case 'attr':
        return {
          kind: 'UpsertWorkflowSearchAttributes',
          attributes: { searchAttributes: { indexedFields: { k: { data: new Uint8Array([2]) } } } },
        };
      case 'complete':
        return COMPLETE;
      case 'fail':
        return failWith(first);
      case 'canceling':
        return CANCEL;
      case 'child':
        return { kind: 'StartChildWorkflowExecution', attributes: {} };
      default:
        throw new Error(`no such command: ${text}`);
    }
  }

  /** Completes the task in hand, with a poll for everything; the next task is in hand then, if there is one. */
  #inline(commands: readonly Command[]): Decision {
    const poll = () => ({ requestId: `inline-${(this.#serial += 1)}`, identity: 'worker' });
    const decision = completeTask(this.lab, this.hand(), commands, {
      nextTask: poll(),
      activityPolls: new Map(commands.map((_, index) => [index, poll()])),
    });
    if (decision.kind === 'commit' && decision.reply.kind === 'workflow-task-completed') {
      const { task } = decision.reply;
      if (task) this.#hands.set('', { ...task, runId: this.lab.runId });
    }
    return decision;
  }

  /** Time goes on; clocks ring in the order of their due times, each exactly when it is due. */
  #wait(seconds: number): Decision | undefined {
    const { lab } = this;
    const until = lab.now + seconds * 1_000;
    let decision: Decision | undefined;
    for (let alarms = 0; alarms < MOST_ALARMS; alarms += 1) {
      const due = lab.work
        .flatMap((work) => (work.kind === 'timer' && work.dueAt <= until ? [work] : []))
        .sort((a, b) => a.dueAt - b.dueAt)[0];
      if (!due) break;
      lab.now = Math.max(lab.now, due.dueAt);
      decision = lab.ask({ kind: 'timer-due', key: due.key });
    }
    lab.now = until;
    return decision;
  }
}
