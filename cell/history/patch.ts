/**
 * Patches: facts of a run that are not history events (D4), in the same record and folded by the same `apply`.
 * A kind is never reused for another meaning; `apply` only grows (D17).
 */
import type { BufferedEvent, EpochMs, TaskStart } from './state.ts';
import type { HistoryEvent } from '../../wire/events.ts';
import type { Failure, Payloads } from '../../wire/plain.ts';

export type Patch =
  /** The request that started the chain: what a repeat of it is recognised by, also after close (D15). */
  | { readonly kind: 'start-request'; readonly requestId: string }
  /** The scheduled task goes on a chain of heartbeats that began then (BEHAVIOURS 7). */
  | { readonly kind: 'workflow-task-heartbeat'; readonly firstScheduledAt: EpochMs }
  /** A transient workflow-task attempt is scheduled: no event (BEHAVIOURS 4). Also replaces queue or back-off of a pending one. */
  | {
      readonly kind: 'workflow-task-scheduled';
      readonly attempt: number;
      readonly scheduledAt: EpochMs;
      readonly notBefore: EpochMs;
    }
  /** A transient attempt's start became durable, carried by another record: no event. */
  | { readonly kind: 'workflow-task-started'; readonly start: TaskStart }
  /** The pending workflow task goes to the normal queue (its sticky worker is gone, BEHAVIOURS 5), or a new sticky queue is known. */
  | {
      readonly kind: 'sticky';
      readonly sticky?: { readonly queue: string; readonly scheduleToStartMs: number } | undefined;
    }
  /** The pending, not yet started workflow task is offered to the normal queue instead. */
  | { readonly kind: 'workflow-task-unstuck' }
  | { readonly kind: 'event-buffered'; readonly event: BufferedEvent }
  /** The buffered events leave (they follow as events), or some were removed (BEHAVIOURS 8). */
  | { readonly kind: 'buffer-kept'; readonly indexes: readonly number[] }
  | {
      readonly kind: 'activity-started';
      readonly scheduledEventId: number;
      readonly at: EpochMs;
      readonly requestId: string;
      readonly identity: string;
    }
  /** The attempt ended and another follows. */
  | {
      readonly kind: 'activity-retry';
      readonly scheduledEventId: number;
      readonly attempt: number;
      readonly scheduledAt: EpochMs;
      readonly failure: Failure | undefined;
      readonly identity: string;
    }
  | {
      readonly kind: 'activity-heartbeat';
      readonly scheduledEventId: number;
      readonly at: EpochMs;
      readonly details?: Payloads | undefined;
    }
  /** One full heartbeat interval is granted after nobody owned the shard (D16). */
  | {
      readonly kind: 'activity-heartbeat-granted';
      readonly scheduledEventId: number;
      readonly at: EpochMs;
    };

/** One step of a transition, in order. Event kinds are CamelCase, patch kinds are kebab-case: one union. */
export type Change = HistoryEvent | Patch;
