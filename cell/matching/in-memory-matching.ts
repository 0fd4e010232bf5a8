/**
 * Matching of one host: all task queues in one map, one partition a queue (D6).
 *
 * Place: shard owners offer tasks that are due; the frontend's poll handlers wait here. See matching.ts for the
 * promises; this file adds
 *  1. Queues need no timers: an idle one is dropped in passing, at most one sweep a minute.
 *  2. The map of queues is bounded. At the bound idle queues leave at once; if none is idle a new queue is
 *     refused (polls) or told to hold (offers), and hears of room when one leaves.
 */
import type { Clock } from '../../kernel/clock.ts';
import { AtollError } from '../../kernel/errors.ts';
import { defaultMatchingConfig, type MatchingConfig } from './config.ts';
import type {
  HandedTask,
  Matching,
  OfferedTask,
  Poller,
  QueueKey,
  Reservation,
} from './matching.ts';
import { TaskQueue } from './task-queue.ts';

const SWEEP_EVERY_MS = 60_000;

export type InMemoryMatchingOptions = {
  readonly clock: Clock;
  readonly config?: MatchingConfig;
};

export class InMemoryMatching<Started = unknown> implements Matching<Started> {
  readonly #clock: Clock;
  readonly #config: MatchingConfig;
  readonly #queues = new Map<string, TaskQueue<Started>>();
  /** Queues that found no place in the map, at most `maxQueues`; the scanner of the shards finds any beyond. */
  readonly #turnedAway = new Map<string, QueueKey>();
  readonly #listeners = new Set<(queue: QueueKey) => void>();
  #sweptMs: number;

  constructor({ clock, config = defaultMatchingConfig }: InMemoryMatchingOptions) {
    this.#clock = clock;
    this.#config = config;
    this.#sweptMs = clock.monotonicMs();
  }

  /** Queues in memory, for metrics. */
  get queueCount(): number {
    return this.#queues.size;
  }

  /** Waiting tasks of all queues, and the age of the oldest in ms, for metrics. Linear in the number of queues. */
  backlogs(): { readonly tasks: number; readonly oldestAgeMs: number } {
    let tasks = 0;
    let oldestAgeMs = 0;
    for (const queue of this.#queues.values()) {
      const backlog = queue.backlog();
      tasks += backlog.tasks;
      oldestAgeMs = Math.max(oldestAgeMs, backlog.oldestAgeMs);
    }
    return { tasks, oldestAgeMs };
  }

  offer(task: OfferedTask): 'accepted' | 'full' {
    const queue = this.#queue(task.queue);
    if (queue !== undefined) return queue.offer(task);
    if (this.#turnedAway.size < this.#config.maxQueues)
      this.#turnedAway.set(nameOf(task.queue), task.queue);
    return 'full';
  }

  giveBack(task: OfferedTask): void {
    const queue = this.#queues.get(nameOf(task.queue)) ?? this.#make(task.queue);
    queue.giveBack(task);
  }

  async poll(key: QueueKey, poller: Poller): Promise<HandedTask<Started> | undefined> {
    const queue = this.#queue(key);
    if (queue !== undefined) return queue.poll(poller);
    throw new AtollError(
      'resource-exhausted',
      `This cell has ${this.#config.maxQueues} task queues in use (maxQueues) and no room for "${key.name}".`,
    );
  }

  reserve(queue: QueueKey): Reservation<Started> | undefined {
    return this.#queues.get(nameOf(queue))?.reserve();
  }

  isPolled(queue: QueueKey): boolean {
    return this.#queues.get(nameOf(queue))?.isPolled() ?? false;
  }

  forget(queue: QueueKey): readonly OfferedTask[] {
    return this.#queues.get(nameOf(queue))?.forget() ?? [];
  }

  release(namespaceId: string): void {
    const prefix = `${namespaceId}\0`;
    for (const [name, queue] of this.#queues) if (name.startsWith(prefix)) queue.forget();
  }

  backlog(queue: QueueKey): { readonly tasks: number; readonly oldestAgeMs: number } {
    return this.#queues.get(nameOf(queue))?.backlog() ?? { tasks: 0, oldestAgeMs: 0 };
  }

  pollers(queue: QueueKey): readonly { readonly identity: string; readonly lastSeenAt: number }[] {
    return this.#queues.get(nameOf(queue))?.pollers() ?? [];
  }

  onRoom(listener: (queue: QueueKey) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** The queue of that name, made if need be; undefined when the map is full of busy queues. */
  #queue(key: QueueKey): TaskQueue<Started> | undefined {
    if (this.#clock.monotonicMs() - this.#sweptMs >= SWEEP_EVERY_MS)
      this.#sweep(this.#config.rememberForMs);
    const known = this.#queues.get(nameOf(key));
    if (known !== undefined) return known;
    if (this.#queues.size >= this.#config.maxQueues) this.#sweep(0);
    return this.#queues.size >= this.#config.maxQueues ? undefined : this.#make(key);
  }

  #make(key: QueueKey): TaskQueue<Started> {
    const onRoom = (queue: QueueKey) => this.#tell(queue);
    const queue = new TaskQueue<Started>({ key, clock: this.#clock, config: this.#config, onRoom });
    this.#queues.set(nameOf(key), queue);
    return queue;
  }

  #sweep(idleForMs: number): void {
    this.#sweptMs = this.#clock.monotonicMs();
    for (const [name, queue] of this.#queues)
      if (queue.isIdle(idleForMs)) this.#queues.delete(name);
    if (this.#queues.size >= this.#config.maxQueues) return;
    const waiting = [...this.#turnedAway.values()];
    this.#turnedAway.clear();
    for (const key of waiting) this.#tell(key);
  }

  #tell(queue: QueueKey): void {
    for (const listener of [...this.#listeners]) listener(queue);
  }
}

function nameOf(queue: QueueKey): string {
  return `${queue.namespaceId}\0${queue.kind}\0${queue.name}`;
}
