/**
 * The order process as a worker of the raw protocol runs it: from the events of a history to the commands that are due.
 * It keeps nothing between tasks.
 *
 * Invariants
 *  1. Money is moved by activities of one attempt; one that ended in doubt is settled by asking the ledger.
 *  2. The same history gives the same commands; what the history holds already is not commanded again.
 */
import type { Command, HistoryEvent } from '../../wire/events.ts';
import type { Payloads } from '../../wire/plain.ts';
import { toDuration } from '../../wire/time.ts';
import type { Move } from './ledger.ts';

export type Fate = 'ships' | 'never-ships' | 'declined' | 'no-stock';
export type EndState = 'payment-declined' | 'refunded' | 'shipped' | 'support-case';

/** What an order's workflow is started with. */
export type OrderInput = {
  readonly order: string;
  readonly fate: Fate;
  readonly shipWithinMs: number;
};

type Activity =
  | { readonly kind: 'open' }
  | { readonly kind: 'completed'; readonly result: unknown }
  | { readonly kind: 'failed'; readonly type: string };

type Digest = {
  readonly input: OrderInput;
  readonly activities: ReadonlyMap<string, Activity>;
  readonly timers: ReadonlyMap<string, 'open' | 'fired'>;
  readonly signals: readonly string[];
  readonly cancelRequested: boolean;
};

const ONE_ATTEMPT_MS = 4_000;
const MOST_MOVES = 20;
const SHIP_TIMER = 'ship';

/** Signals that the run has seen, by id, in order: the answer to a query. */
export function signalsOf(events: readonly HistoryEvent[]): readonly string[] {
  return events.flatMap((event) =>
    event.kind === 'WorkflowExecutionSignaled'
      ? [String(fromPayloads(event.attributes.input))]
      : [],
  );
}

export function nextCommands(events: readonly HistoryEvent[]): readonly Command[] {
  const digest = digestOf(events);
  if (digest.cancelRequested) return [{ kind: 'CancelWorkflowExecution', attributes: {} }];
  const payment = moveOnce(digest, 'capture');
  if (payment.kind === 'wait') return payment.commands;
  if (payment.kind === 'refused') return end('payment-declined');
  const reserved = digest.activities.get('reserve');
  if (!reserved) return [schedule('reserve', { retried: true })];
  if (reserved.kind === 'open') return [];
  if (reserved.kind === 'failed') {
    const refund = moveOnce(digest, 'refund');
    return refund.kind === 'wait' ? refund.commands : end('refunded');
  }
  return awaitShipment(digest);
}

function awaitShipment({ signals, timers, activities, input }: Digest): readonly Command[] {
  const support = activities.get('support');
  if (support) return support.kind === 'open' ? [] : end('support-case');
  const timer = timers.get(SHIP_TIMER);
  if (signals.some(isShipped)) {
    const cancel: Command = { kind: 'CancelTimer', attributes: { timerId: SHIP_TIMER } };
    return timer === 'open' ? [cancel, ...end('shipped')] : end('shipped');
  }
  if (timer === 'fired') return [schedule('support', { retried: true })];
  if (timer === 'open') return [];
  const startToFireTimeout = toDuration(input.shipWithinMs);
  return [{ kind: 'StartTimer', attributes: { timerId: SHIP_TIMER, startToFireTimeout } }];
}

type Moved =
  | { readonly kind: 'wait'; readonly commands: readonly Command[] }
  | { readonly kind: 'moved' }
  | { readonly kind: 'refused' };

function moveOnce({ activities }: Digest, move: Move): Moved {
  for (let tried = 1; tried <= MOST_MOVES; tried += 1) {
    const activity = activities.get(`${move}-${tried}`);
    if (!activity) return wait(schedule(`${move}-${tried}`, { retried: false }));
    if (activity.kind === 'open') return wait();
    if (activity.kind === 'completed') return { kind: 'moved' };
    if (activity.type === 'CardDeclined') return { kind: 'refused' };
    const asked = activities.get(`ask-${move}-${tried}`);
    if (!asked) return wait(schedule(`ask-${move}-${tried}`, { retried: true }));
    if (asked.kind === 'open') return wait();
    if (asked.kind === 'completed' && asked.result === true) return { kind: 'moved' };
  }
  return { kind: 'moved' };
}

function wait(...commands: readonly Command[]): Moved {
  return { kind: 'wait', commands };
}

function schedule(activityId: string, { retried }: { readonly retried: boolean }): Command {
  const retryPolicy = retried
    ? {
        initialInterval: toDuration(200),
        backoffCoefficient: 1.5,
        maximumInterval: toDuration(2_000),
      }
    : { maximumAttempts: 1 };
  return {
    kind: 'ScheduleActivityTask',
    attributes: {
      activityId,
      activityType: { name: activityId.replace(/-\d+$/, '') },
      taskQueue: { name: 'orders' },
      startToCloseTimeout: toDuration(ONE_ATTEMPT_MS),
      retryPolicy,
    },
  };
}

function end(state: EndState): readonly Command[] {
  return [{ kind: 'CompleteWorkflowExecution', attributes: { result: toPayloads(state) } }];
}

export function isShipped(signal: string): boolean {
  return signal.endsWith('/shipped');
}

function digestOf(events: readonly HistoryEvent[]): Digest {
  const activities = new Map<string, Activity>();
  const timers = new Map<string, 'open' | 'fired'>();
  const names = new Map<number, string>();
  let input: OrderInput = { order: '', fate: 'ships', shipWithinMs: 1_000 };
  let cancelRequested = false;
  const close = (scheduledEventId: number | undefined, activity: Activity) =>
    void activities.set(names.get(scheduledEventId ?? 0) ?? '', activity);
  for (const event of events) {
    switch (event.kind) {
      case 'WorkflowExecutionStarted':
        input = fromPayloads(event.attributes.input) as OrderInput;
        break;
      case 'ActivityTaskScheduled':
        names.set(event.eventId, event.attributes.activityId ?? '');
        activities.set(event.attributes.activityId ?? '', { kind: 'open' });
        break;
      case 'ActivityTaskCompleted':
        close(event.attributes.scheduledEventId, {
          kind: 'completed',
          result: fromPayloads(event.attributes.result),
        });
        break;
      case 'ActivityTaskFailed': {
        const type = event.attributes.failure?.applicationFailureInfo?.type ?? '';
        close(event.attributes.scheduledEventId, { kind: 'failed', type });
        break;
      }
      case 'ActivityTaskTimedOut':
        close(event.attributes.scheduledEventId, { kind: 'failed', type: 'TimedOut' });
        break;
      case 'TimerStarted':
        timers.set(event.attributes.timerId ?? '', 'open');
        break;
      case 'TimerFired':
        timers.set(event.attributes.timerId ?? '', 'fired');
        break;
      case 'WorkflowExecutionCancelRequested':
        cancelRequested = true;
        break;
      default:
    }
  }
  return { input, activities, timers, signals: signalsOf(events), cancelRequested };
}

const ENCODING = Buffer.from('json/plain');

export function toPayloads(value: unknown): Payloads {
  return {
    payloads: [{ metadata: { encoding: ENCODING }, data: Buffer.from(JSON.stringify(value)) }],
  };
}

export function fromPayloads(payloads: Payloads | undefined): unknown {
  const data = payloads?.payloads?.[0]?.data;
  return data === undefined ? undefined : JSON.parse(Buffer.from(data).toString());
}
