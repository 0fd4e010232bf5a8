/**
 * Who takes the activities that a completed workflow task schedules: its own worker where a command asks for that, else
 * a poll that waits on the activity's queue. They are started in the transition that schedules them, which saves each
 * the commit of a start of its own (D7).
 *
 * Invariants
 *  1. A reserved poll gets its activity when the start is durable, never before, or goes back to its line.
 *  2. A durable start whose poll has ended, or was released because the caller gave up, is in no worker's hand: its task
 *     is given to matching under the id of that start, which the next poll asks for again.
 */
import type { Command } from '../../wire/events.ts';
import type { ActivityStartedReply } from '../history/decision.ts';
import type { TaskTaker } from '../history/input.ts';
import type { QueueKey, Reservation } from '../matching/matching.ts';
import type { RunRef } from '../shard/engine.ts';
import type { FrontendParts } from './call.ts';

type Reserved = {
  readonly queue: QueueKey;
  readonly poll: Reservation<ActivityStartedReply>;
};

export class ActivityPolls {
  readonly #matching: FrontendParts['matching'];
  /** By the index of the command that schedules the activity. */
  readonly byCommand: ReadonlyMap<number, TaskTaker>;
  /** By request id. */
  readonly #reserved: ReadonlyMap<string, Reserved>;

  private constructor(
    matching: FrontendParts['matching'],
    byCommand: ReadonlyMap<number, TaskTaker>,
    reserved: ReadonlyMap<string, Reserved>,
  ) {
    this.#matching = matching;
    this.byCommand = byCommand;
    this.#reserved = reserved;
  }

  /** Whoever asks for these must end with `release`. */
  static find(
    { matching, rng, config }: Pick<FrontendParts, 'matching' | 'rng' | 'config'>,
    worker: { readonly namespaceId: string; readonly identity: string },
    commands: readonly Command[],
  ): ActivityPolls {
    const byCommand = new Map<number, TaskTaker>();
    const reserved = new Map<string, Reserved>();
    for (const [index, command] of commands.entries()) {
      if (command.kind !== 'ScheduleActivityTask') continue;
      const { requestEagerExecution, taskQueue } = command.attributes;
      if (requestEagerExecution && config.startsInline) {
        byCommand.set(index, { requestId: rng.uuid(), identity: worker.identity });
        continue;
      }
      const { namespaceId } = worker;
      const queue: QueueKey = { namespaceId, kind: 'activity', name: taskQueue?.name ?? '' };
      const poll = matching.reserve(queue);
      if (poll === undefined) continue;
      const requestId = rng.uuid();
      reserved.set(requestId, { queue, poll });
      byCommand.set(index, { requestId, identity: poll.identity });
    }
    return new ActivityPolls(matching, byCommand, reserved);
  }

  /** Hands durable starts to the polls that they were made for. Returns those of the worker itself. */
  handOut(run: RunRef, started: readonly ActivityStartedReply[]): readonly ActivityStartedReply[] {
    return started.filter((reply) => {
      const { activity } = reply;
      const requestId = activity.started?.requestId ?? '';
      const reserved = this.#reserved.get(requestId);
      if (reserved === undefined) return true;
      const { workflowId, runId } = run;
      const { scheduledEventId, attempt, scheduledAt } = activity;
      const ids = { workflowId, runId, scheduledEventId, attempt, scheduledAt };
      const task = { kind: 'activity-task', queue: reserved.queue, ...ids } as const;
      const isTaken = reserved.poll.hand({ ...task, started: reply });
      if (!isTaken) this.#matching.giveBack({ ...task, requestId });
      return false;
    });
  }

  /** Polls that got nothing wait on. */
  release(): void {
    for (const { poll } of this.#reserved.values()) poll.release();
  }
}
