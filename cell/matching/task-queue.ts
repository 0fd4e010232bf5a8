/**
 * One task queue: its waiting tasks, its waiting polls, and who polled lately.
 *
 * Invariants
 *  1. Tasks and polls never wait at the same time.
 *  2. A poll that ended (its signal aborted, or a goodbye came) is gone from the line at once, so no task can meet it.
 *  3. A reserved poll is in no line, so it meets no task. It ends with its client at once, but with its queue (`forget`)
 *     only once its reservation is decided: the start that it is reserved for may be durable by then, and in no other hand.
 *  4. `offer` says `full` at the bound; the queue then owes a word, and gives it once, when half of the room is free.
 */
import type { Clock } from '../../kernel/clock.ts';
import { AtollError } from '../../kernel/errors.ts';
import type { MatchingConfig } from './config.ts';
import type { HandedTask, OfferedTask, Poller, QueueKey, Reservation } from './matching.ts';
import { TaskList } from './task-list.ts';

type WaitingPoll<Started> = {
  readonly identity: string;
  readonly end: (task: HandedTask<Started> | undefined) => void;
  /** Its queue was forgotten while it was reserved. */
  isForgotten: boolean;
};

export type TaskQueueOptions = {
  readonly key: QueueKey;
  readonly clock: Clock;
  readonly config: MatchingConfig;
  /** Called when a queue that said `full` has room again. */
  readonly onRoom: (queue: QueueKey) => void;
};

export class TaskQueue<Started> {
  readonly key: QueueKey;
  readonly #clock: Clock;
  readonly #config: MatchingConfig;
  readonly #onRoom: (queue: QueueKey) => void;
  readonly #tasks = new TaskList();
  /** In the order of coming: the longest waiting poll gets the next task. */
  readonly #polls = new Set<WaitingPoll<Started>>();
  /** Taken out of the line. */
  readonly #reserved = new Set<WaitingPoll<Started>>();
  /** Wall time of the last poll by identity, the longest unseen first. */
  readonly #seen = new Map<string, number>();
  #owesWord = false;
  /** Monotonic; undefined = never polled, or a goodbye came. */
  #lastPolledMs: number | undefined;
  #lastUsedMs: number;

  constructor(options: TaskQueueOptions) {
    this.key = options.key;
    this.#clock = options.clock;
    this.#config = options.config;
    this.#onRoom = options.onRoom;
    this.#lastUsedMs = options.clock.monotonicMs();
  }

  offer(task: OfferedTask): 'accepted' | 'full' {
    this.#lastUsedMs = this.#clock.monotonicMs();
    if (this.#handOver(task)) return 'accepted';
    if (this.#tasks.size >= this.#config.maxTasksPerQueue) {
      this.#owesWord = true;
      return 'full';
    }
    this.#tasks.add(task);
    return 'accepted';
  }

  giveBack(task: OfferedTask): void {
    if (!this.#handOver(task)) this.#tasks.addFirst(task);
  }

  async poll(poller: Poller): Promise<HandedTask<Started> | undefined> {
    if (poller.signal.aborted) return undefined;
    this.#see(poller.identity);
    const task = this.#tasks.take();
    if (task !== undefined) {
      this.#tellRoom();
      return task;
    }
    if (this.#waitingPolls >= this.#config.maxPollersPerQueue) {
      throw new AtollError(
        'resource-exhausted',
        `Task queue "${this.key.name}" has ${this.#waitingPolls} waiting polls (maxPollersPerQueue): run fewer pollers.`,
      );
    }
    return this.#wait(poller);
  }

  /** Takes the longest waiting poll out of its line. */
  reserve(): Reservation<Started> | undefined {
    const [poll] = this.#polls;
    if (poll === undefined) return undefined;
    this.#polls.delete(poll);
    this.#reserved.add(poll);
    let isOpen = true;
    /** Once, and only while the poll lives. */
    const take = () => {
      const taken = isOpen && this.#reserved.delete(poll);
      isOpen = false;
      return taken;
    };
    return {
      identity: poll.identity,
      hand: (task) => {
        const taken = take();
        if (taken) poll.end(task);
        return taken;
      },
      release: () => {
        if (take()) this.#putBack(poll);
      },
    };
  }

  isPolled(): boolean {
    if (this.#waitingPolls > 0) return true;
    return (
      this.#lastPolledMs !== undefined &&
      this.#clock.monotonicMs() - this.#lastPolledMs <= this.#config.polledForMs
    );
  }

  /** Ends the polls empty, reserved ones when they are released, and returns the tasks. */
  forget(): readonly OfferedTask[] {
    const tasks = this.#tasks.takeAll();
    for (const poll of [...this.#polls]) poll.end(undefined);
    for (const poll of this.#reserved) poll.isForgotten = true;
    this.#lastPolledMs = undefined;
    this.#tellRoom();
    return tasks;
  }

  backlog(): { readonly tasks: number; readonly oldestAgeMs: number } {
    const oldest = this.#tasks.peek();
    const oldestAgeMs =
      oldest === undefined ? 0 : Math.max(0, this.#clock.now() - oldest.scheduledAt);
    return { tasks: this.#tasks.size, oldestAgeMs };
  }

  pollers(): readonly { readonly identity: string; readonly lastSeenAt: number }[] {
    const since = this.#clock.now() - this.#config.rememberForMs;
    return [...this.#seen]
      .filter(([, lastSeenAt]) => lastSeenAt >= since)
      .map(([identity, lastSeenAt]) => ({ identity, lastSeenAt }));
  }

  /** Nothing waits here and nothing has for a while (or, asked so, at this moment): the queue can be made anew. */
  isIdle(forMs: number): boolean {
    if (this.#tasks.size > 0 || this.#waitingPolls > 0) return false;
    return this.#clock.monotonicMs() - this.#lastUsedMs >= forMs;
  }

  /** Hands the task to the longest waiting poll, if any. */
  #handOver(task: OfferedTask): boolean {
    const [poll] = this.#polls;
    poll?.end(task);
    return poll !== undefined;
  }

  get #waitingPolls(): number {
    return this.#polls.size + this.#reserved.size;
  }

  /** Back in line, behind those that came meanwhile; a task may have come as well. */
  #putBack(poll: WaitingPoll<Started>): void {
    if (poll.isForgotten) return poll.end(undefined);
    const task = this.#tasks.take();
    if (task === undefined) this.#polls.add(poll);
    else {
      poll.end(task);
      this.#tellRoom();
    }
  }

  #wait(poller: Poller): Promise<HandedTask<Started> | undefined> {
    return new Promise((resolve) => {
      const onAbort = () => poll.end(undefined);
      const poll: WaitingPoll<Started> = {
        identity: poller.identity,
        isForgotten: false,
        end: (task) => {
          this.#polls.delete(poll);
          this.#reserved.delete(poll);
          poller.signal.removeEventListener('abort', onAbort);
          this.#see(poller.identity);
          resolve(task);
        },
      };
      this.#polls.add(poll);
      poller.signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  #see(identity: string): void {
    const nowMs = this.#clock.monotonicMs();
    this.#lastPolledMs = nowMs;
    this.#lastUsedMs = nowMs;
    this.#seen.delete(identity);
    this.#seen.set(identity, this.#clock.now());
    if (this.#seen.size <= this.#config.maxIdentitiesPerQueue) return;
    const [longestUnseen] = this.#seen.keys();
    if (longestUnseen !== undefined) this.#seen.delete(longestUnseen);
  }

  #tellRoom(): void {
    if (!this.#owesWord || this.#tasks.size * 2 > this.#config.maxTasksPerQueue) return;
    this.#owesWord = false;
    this.#onRoom(this.key);
  }
}
