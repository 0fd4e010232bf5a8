/**
 * Drives the pending work of a shard's runs (D5, PROTOCOLS 5): arms their clocks, offers their tasks to matching, and
 * sends what is due back into the run. Its book is a register of armed work by run and key, so that any state can be
 * held against it (`sync`) at any time: after a commit, a takeover, a scan.
 *
 * Invariants
 *  1. Only committed states are synced: no effect leaves before its seq is durable.
 *  2. Arming is idempotent by (run, key); what a state no longer names is disarmed.
 *  3. Held tasks and clocks are bounded; what does not fit is not marked as armed, and is read again from the views (P11).
 */
import type { CancelAlarm, Clock } from '../../../kernel/clock.ts';
import type { Log } from '../../../kernel/log.ts';
import type { RunInput } from '../../history/input.ts';
import type { Work } from '../../history/work.ts';
import type { Matching, OfferedTask, QueueKey } from '../../matching/matching.ts';
import type { ShardConfig } from '../config.ts';
import { DueIndex } from './due-index.ts';
import type { RunRef } from '../engine.ts';

/** What the driver asks of its shard. */
export interface DrivenShard {
  /** The shard's time (D16). */
  now(): number;
  /** Sends an input to a run until it is answered; then calls `answered`, and syncs the run if need be. Never rejects. */
  send(run: RunRef, input: RunInput): Promise<void>;
  /** Some work did not fit and there is room again: read it from the views. */
  refill(what: 'timers' | 'tasks'): void;
}

type TaskWork = Extract<Work, { kind: 'workflow-task' | 'activity-task' }>;
type Due = { readonly run: RunRef; readonly work: string; readonly task: TaskWork | undefined };
/** Where armed work is: `due` = its input is on the way into the run; a held task is in the list of its queue. */
type Armed = 'clock' | 'due' | 'offered' | { readonly heldIn: string };
type Held = { readonly run: RunRef; readonly work: string; readonly task: OfferedTask };

/** A task's alarm never sleeps longer, so that a jump of the wall clock is noticed (D16). */
const LONGEST_SLEEP_MS = 60_000;

export class WorkDriver {
  readonly #shard: DrivenShard;
  readonly #clock: Clock;
  readonly #matching: Matching;
  readonly #log: Log;
  readonly #config: ShardConfig;
  readonly #timerRang: (lagMs: number) => void;
  readonly #armed = new Map<string, Map<string, Armed>>();
  /** The runs that have something armed. */
  readonly #runs = new Map<string, RunRef>();
  readonly #due: DueIndex<Due>;
  readonly #held = new Map<string, Map<string, Held>>();
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
    readonly timerRang?: ((lagMs: number) => void) | undefined;
  }) {
    this.#shard = options.shard;
    this.#clock = options.clock;
    this.#matching = options.matching;
    this.#log = options.log;
    this.#config = options.config;
    this.#timerRang = options.timerRang ?? (() => {});
    this.#due = new DueIndex(options.config.timerWindow, ({ item }) =>
      this.#forget(item.run, item.work),
    );
  }

  stop(): void {
    this.#stopped = true;
    this.#alarm?.cancel();
  }

  /** Clocks due at this time or later may be in the timer view alone. */
  get timerHorizon(): number {
    return this.#due.horizon;
  }

  /** Grows whenever clocks had to leave for earlier ones. */
  get timerShrinks(): number {
    return this.#due.shrinks;
  }

  /** The window has room, and there may be clocks beyond its horizon. */
  get wantsTimers(): boolean {
    return this.#due.wantsMore;
  }

  get heldTasks(): number {
    return this.#heldCount;
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

  /**
   * Arms a clock that the timer view names, also beyond the horizon: the view is being read there. Call `adopted` after
   * the last one.
   */
  adopt(run: RunRef, work: string, dueAt: number): void {
    if (this.#armed.get(run.runId)?.has(work)) return;
    this.#setClock(run, { work, dueAt, task: undefined }, true);
  }

  /** Clocks were adopted: the earliest may be due before all that was armed. */
  adopted(): void {
    this.#schedule();
  }

  /** The timer view was read up to this due time. */
  windowReadUpTo(dueAt: number): void {
    this.#due.setHorizon(dueAt);
    this.#schedule();
  }

  /** A task left matching without being started: sync its run, so that it is offered again if it is still wanted. */
  left(run: RunRef, task: OfferedTask): void {
    const { scheduledEventId: id, attempt } = task;
    const keys = task.kind === 'activity-task' ? [`a:${id}:${attempt}`] : [`w:${id}:${attempt}`];
    for (const key of keys.flatMap((each) => [each, `${each}:s`])) {
      if (this.#armed.get(run.runId)?.get(key) === 'offered') this.#forget(run, key);
    }
  }

  /** The input of a due clock was answered. True if the run's state does not show it: sync the run. */
  answered(run: RunRef, work: string): boolean {
    if (this.#armed.get(run.runId)?.get(work) !== 'due') return false;
    this.#forget(run, work);
    return true;
  }

  /** The namespace is not driven here any more; a task that matching holds of it is obsolete when it is started. */
  forgetNamespace(namespaceId: string): void {
    // Calls are held meanwhile: all at once, and not run by run.
    this.#due.removeAll(({ run }) => run.namespaceId === namespaceId);
    for (const [heldIn, held] of this.#held) {
      for (const [id, { run }] of held) {
        if (run.namespaceId === namespaceId) this.#unhold(heldIn, id);
      }
    }
    for (const [runId, run] of this.#runs) {
      if (run.namespaceId !== namespaceId) continue;
      this.#armed.delete(runId);
      this.#runs.delete(runId);
    }
    this.#refillTasks();
    this.#schedule();
  }

  /** Clocks that the timer view holds were passed over: it is to be read again from its start. */
  rereadTimers(): void {
    this.#due.restart();
    this.#schedule();
  }

  /** Matching has room in a queue again. */
  onRoom(queue: QueueKey): void {
    if (this.#stopped) return;
    const name = queueName(queue);
    for (const [id, held] of this.#held.get(name) ?? []) {
      if (this.#matching.offer(held.task) === 'full') return;
      this.#unhold(name, id);
      this.#mark(held.run, held.work, 'offered');
    }
    this.#refillTasks();
  }

  get holdsAllTasks(): boolean {
    return !this.#overflowed;
  }

  #arm(run: RunRef, work: Work, armed: Armed | undefined): boolean {
    if (work.kind === 'timer') {
      if (armed === 'due' && work.dueAt <= this.#shard.now()) return false;
      return this.#setClock(run, { work: work.key, dueAt: work.dueAt, task: undefined });
    }
    if (armed !== undefined && armed !== 'clock') return false;
    if (work.notBefore > this.#shard.now()) {
      return this.#setClock(run, { work: work.key, dueAt: work.notBefore, task: work });
    }
    this.#due.remove(clockKey(run, work.key));
    this.#offer(run, work);
    return armed === undefined;
  }

  /** Returns whether the clock is new here. */
  #setClock(
    run: RunRef,
    clock: { readonly work: string; readonly dueAt: number; readonly task: TaskWork | undefined },
    beyond = false,
  ): boolean {
    const key = clockKey(run, clock.work);
    const known = this.#due.has(key);
    const item = { run, work: clock.work, task: clock.task };
    if (this.#due.set({ key, dueAt: clock.dueAt, item }, beyond)) {
      if (!known) this.#mark(run, clock.work, 'clock');
      return !known;
    }
    this.#forget(run, clock.work); // Beyond the window: the view keeps it.
    return false;
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
          'held tasks are at their limit (heldTaskLimit); the rest waits in the task view',
        );
      }
      this.#overflowed = true;
      this.#forget(run, work);
      return;
    }
    const heldIn = queueName(task.queue);
    const held = this.#held.get(heldIn) ?? new Map<string, Held>();
    held.set(clockKey(run, work), { run, work, task });
    this.#held.set(heldIn, held);
    this.#heldCount += 1;
    this.#mark(run, work, { heldIn });
  }

  #unhold(heldIn: string, id: string): void {
    const held = this.#held.get(heldIn);
    if (held?.delete(id)) this.#heldCount -= 1;
    if (held?.size === 0) this.#held.delete(heldIn);
  }

  #refillTasks(): void {
    if (!this.#overflowed || this.#heldCount > this.#config.heldTaskLimit / 2) return;
    this.#overflowed = false;
    this.#shard.refill('tasks');
  }

  #disarm(run: RunRef, key: string): void {
    this.#due.remove(clockKey(run, key));
    const armed = this.#armed.get(run.runId)?.get(key);
    this.#forget(run, key);
    if (typeof armed !== 'object') return;
    this.#unhold(armed.heldIn, clockKey(run, key));
    this.#refillTasks();
  }

  #mark(run: RunRef, key: string, armed: Armed): void {
    const known = this.#armed.get(run.runId);
    if (known) known.set(key, armed);
    else {
      this.#armed.set(run.runId, new Map([[key, armed]]));
      this.#runs.set(run.runId, run);
    }
  }

  #forget(run: RunRef, key: string): void {
    const known = this.#armed.get(run.runId);
    known?.delete(key);
    if (known?.size !== 0) return;
    this.#armed.delete(run.runId);
    this.#runs.delete(run.runId);
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
      this.#timerRang(now - entry.dueAt);
      this.#forget(run, work);
      if (task) {
        this.#offer(run, task);
        continue;
      }
      this.#mark(run, work, 'due');
      void this.#shard.send(run, { kind: 'timer-due', key: work });
    }
    this.#schedule();
  }
}

function clockKey(run: RunRef, work: string): string {
  return `${run.runId}/${work}`;
}

function queueName(queue: QueueKey): string {
  return `${queue.namespaceId}/${queue.kind}/${queue.name}`;
}
