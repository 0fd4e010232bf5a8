/**
 * Drives the pending work of a shard's runs (D5, PROTOCOLS 5): arms their clocks, offers their tasks to matching, and
 * sends what is due back into the run. Its book is a register of armed work by run and key, so that any state can be
 * held against it (`sync`) at any time: after a commit, a takeover, a scan.
 *
 * Invariants
 *  1. Only committed states are synced: no effect leaves before its seq is durable.
 *  2. Arming is idempotent by (run, key); what a state no longer names is disarmed.
 *  3. Held tasks and clocks are bounded; what does not fit is read again from the views (P11).
 */
import type { CancelAlarm, Clock } from '../../kernel/clock.ts';
import type { Log } from '../../kernel/log.ts';
import type { RunInput } from '../history/input.ts';
import type { Work } from '../history/work.ts';
import type { Matching, OfferedTask, QueueKey } from '../matching/matching.ts';
import type { ShardConfig } from './config.ts';
import { DueIndex } from './due-index.ts';
import type { RunRef } from './engine.ts';

/** What the driver asks of its shard. */
export interface DrivenShard {
  /** The shard's time (D16). */
  now(): number;
  /** Sends an input to a run; the run is synced again afterwards. Never rejects. */
  send(run: RunRef, input: RunInput): Promise<void>;
  /** Some work did not fit and there is room again: read it from the views. */
  refill(what: 'timers' | 'tasks'): void;
}

type TaskWork = Extract<Work, { kind: 'workflow-task' | 'activity-task' }>;
type Due = { readonly run: RunRef; readonly work: string; readonly task: TaskWork | undefined };
type Armed = 'clock' | 'offered' | 'held';

/** A task's alarm never sleeps longer, so that a jump of the wall clock is noticed (D16). */
const LONGEST_SLEEP_MS = 60_000;

export class WorkDriver {
  readonly #shard: DrivenShard;
  readonly #clock: Clock;
  readonly #matching: Matching;
  readonly #log: Log;
  readonly #config: ShardConfig;
  readonly #armed = new Map<string, Map<string, Armed>>();
  readonly #due: DueIndex<Due>;
  readonly #held = new Map<
    string,
    Map<string, { readonly run: RunRef; readonly task: OfferedTask }>
  >();
  #heldCount = 0;
  #overflowed = false;
  #alarm: { readonly at: number; readonly cancel: CancelAlarm } | undefined;
  #stopped = false;

  constructor(options: {
    readonly shard: DrivenShard;
    readonly clock: Clock;
    readonly matching: Matching;
    readonly log: Log;
    readonly config: ShardConfig;
  }) {
    this.#shard = options.shard;
    this.#clock = options.clock;
    this.#matching = options.matching;
    this.#log = options.log;
    this.#config = options.config;
    this.#due = new DueIndex(options.config.timerWindow);
  }

  stop(): void {
    this.#stopped = true;
    this.#alarm?.cancel();
  }

  /** Where the timer view must be read from, when the window has room. */
  get timerHorizon(): number {
    return this.#due.horizon;
  }

  /** Holds the register against a run's pending work. Returns how much was missing (the scanner counts it as healed). */
  sync(run: RunRef, work: readonly Work[]): number {
    const known = this.#armed.get(run.runId);
    if (!known && work.length === 0) return 0;
    const wanted = new Set<string>();
    let missing = 0;
    for (const item of work) {
      wanted.add(item.key);
      if (this.#arm(run, item, known?.get(item.key))) missing += 1;
    }
    for (const key of known?.keys() ?? []) if (!wanted.has(key)) this.#disarm(run, key);
    this.#schedule();
    return missing;
  }

  /** Arms a clock that the timer view names, without its run. */
  adopt(run: RunRef, work: string, dueAt: number): void {
    if (this.#armed.get(run.runId)?.has(work)) return;
    this.#setClock(run, { work, dueAt, task: undefined });
  }

  /** The timer view was read up to this due time. */
  windowReadUpTo(dueAt: number): void {
    this.#due.setHorizon(dueAt);
    this.#schedule();
  }

  /** A task left matching: the run decides now what becomes of it. */
  taken(run: RunRef, work: string): void {
    this.#forget(run, work);
  }

  /** Matching has room in a queue again. */
  onRoom(queue: QueueKey): void {
    const held = this.#held.get(queueName(queue));
    for (const [id, { run, task }] of held ?? []) {
      if (this.#matching.offer(task) === 'full') return;
      held?.delete(id);
      this.#heldCount -= 1;
      this.#mark(run, workKeyOf(id), 'offered');
    }
    this.#held.delete(queueName(queue));
    if (this.#overflowed && this.#heldCount < this.#config.heldTaskLimit / 2) {
      this.#overflowed = false;
      this.#shard.refill('tasks');
    }
  }

  get holdsAllTasks(): boolean {
    return !this.#overflowed;
  }

  #arm(run: RunRef, work: Work, armed: Armed | undefined): boolean {
    if (work.kind === 'timer') {
      return this.#setClock(run, { work: work.key, dueAt: work.dueAt, task: undefined });
    }
    if (armed === 'offered' || armed === 'held') return false;
    if (work.notBefore > this.#shard.now()) {
      return this.#setClock(run, { work: work.key, dueAt: work.notBefore, task: work });
    }
    this.#due.remove(clockKey(run, work.key));
    this.#offer(run, work);
    return armed === undefined;
  }

  #setClock(
    run: RunRef,
    clock: { readonly work: string; readonly dueAt: number; readonly task: TaskWork | undefined },
  ): boolean {
    const key = clockKey(run, clock.work);
    const known = this.#due.has(key);
    this.#due.set({ key, dueAt: clock.dueAt, item: { run, work: clock.work, task: clock.task } });
    if (!this.#due.has(key)) return false; // beyond the window: the view keeps it
    this.#mark(run, clock.work, 'clock');
    return !known;
  }

  #offer(run: RunRef, work: TaskWork): void {
    const sticky = work.kind === 'workflow-task' ? work.stickyQueue : undefined;
    const kind = work.kind === 'workflow-task' ? 'workflow' : 'activity';
    const queue: QueueKey = { namespaceId: run.namespaceId, kind, name: sticky ?? work.taskQueue };
    if (sticky !== undefined && !this.#matching.isPolled(queue)) {
      // Its worker is gone or silent: the normal queue gets it, without a failure event (BEHAVIOURS 5).
      this.#mark(run, work.key, 'offered');
      void this.#shard.send(run, { kind: 'sticky-gone' });
      return;
    }
    const task: OfferedTask = {
      kind: work.kind,
      queue,
      workflowId: run.workflowId,
      runId: run.runId,
      scheduledEventId: work.scheduledEventId,
      attempt: work.attempt,
      scheduledAt: work.scheduledAt,
    };
    if (this.#matching.offer(task) === 'accepted') this.#mark(run, work.key, 'offered');
    else this.#hold(run, work.key, task);
  }

  #hold(run: RunRef, work: string, task: OfferedTask): void {
    if (this.#heldCount >= this.#config.heldTaskLimit) {
      if (!this.#overflowed) {
        this.#log.warn(
          { held: this.#heldCount },
          'held tasks are at their limit; the rest waits in the task view',
        );
      }
      this.#overflowed = true;
      this.#forget(run, work);
      return;
    }
    const name = queueName(task.queue);
    const held = this.#held.get(name) ?? new Map<string, { run: RunRef; task: OfferedTask }>();
    held.set(heldId(run, work), { run, task });
    this.#held.set(name, held);
    this.#heldCount += 1;
    this.#mark(run, work, 'held');
  }

  #disarm(run: RunRef, key: string): void {
    this.#due.remove(clockKey(run, key));
    if (this.#armed.get(run.runId)?.get(key) === 'held') {
      for (const held of this.#held.values()) {
        if (held.delete(heldId(run, key))) this.#heldCount -= 1;
      }
    }
    this.#forget(run, key);
  }

  #mark(run: RunRef, key: string, armed: Armed): void {
    const known = this.#armed.get(run.runId);
    if (known) known.set(key, armed);
    else this.#armed.set(run.runId, new Map([[key, armed]]));
  }

  #forget(run: RunRef, key: string): void {
    const known = this.#armed.get(run.runId);
    known?.delete(key);
    if (known?.size === 0) this.#armed.delete(run.runId);
  }

  #schedule(): void {
    if (this.#stopped) return;
    if (this.#due.wantsMore) this.#shard.refill('timers');
    const next = this.#due.next();
    if (next === undefined || (this.#alarm && this.#alarm.at <= next)) return;
    this.#alarm?.cancel();
    const delay = Math.min(Math.max(0, next - this.#shard.now()), LONGEST_SLEEP_MS);
    this.#alarm = { at: next, cancel: this.#clock.after(delay, () => this.#ring()) };
  }

  #ring(): void {
    this.#alarm = undefined;
    if (this.#stopped) return;
    const now = this.#shard.now();
    for (let entry = this.#due.take(now); entry; entry = this.#due.take(now)) {
      const { run, work, task } = entry.item;
      this.#forget(run, work);
      if (task) this.#offer(run, task);
      else void this.#shard.send(run, { kind: 'timer-due', key: work });
    }
    this.#schedule();
  }
}

function clockKey(run: RunRef, work: string): string {
  return `${run.runId}/${work}`;
}

function heldId(run: RunRef, work: string): string {
  return `${run.runId}/${work}`;
}

function workKeyOf(heldKey: string): string {
  return heldKey.slice(heldKey.indexOf('/') + 1);
}

function queueName(queue: QueueKey): string {
  return `${queue.namespaceId}/${queue.kind}/${queue.name}`;
}
