/**
 * The calls that wait while their namespace is between two cells (D10, PROTOCOLS 8): held rather than failed, for as
 * long as their deadlines, their clients and the bounds allow.
 *
 * Place: asked by call.ts when the map says `handover`, or when a cell said so before the map did; router.ts passes
 * every new map on. Here is the queue alone: what a call does with its release is its own matter.
 *
 * Invariants
 *  1. A held call leaves exactly once: released, expired, or by the `leave` that its call calls when its client goes.
 *  2. The calls of a namespace are released in the order in which they reached the router, however often each was held
 *     before; so many in a turn of the loop that other namespaces' calls are not kept waiting (P10).
 *  3. No release begins while the known map says `handover`.
 *  4. Calls and bytes held are bounded, of a namespace and of all (P11). Beyond, a call is refused at once.
 */
import type { CancelAlarm, Clock } from '../kernel/clock.ts';
import { AtollError } from '../kernel/errors.ts';
import { invariant } from '../kernel/invariant.ts';
import type { FleetMap, Namespace, Placement } from '../fleet/map.ts';
import { ResourceExhaustedCause, ResourceExhaustedScope } from '../wire/enums.ts';
import type { RouterConfig } from './config.ts';
import type { HoldEnd, HoldMetrics } from './router-metrics.ts';

type HoldBounds = Pick<
  RouterConfig,
  'heldCallsPerNamespace' | 'heldCalls' | 'heldBytesPerNamespace' | 'heldBytes'
>;
type HoldBound = keyof HoldBounds;

/** What a call says of itself when it is to be held. */
export type HoldRequest = {
  /** As the known map has it: in handover, or active if a cell has refused the call. */
  readonly namespace: Namespace;
  /** Its place among all calls of this router: of `arrive()`. */
  readonly arrival: number;
  /** Bytes of its request that are kept. */
  readonly bytes: number;
  /** After that long it expires. */
  readonly waitMs: number;
  /** How often cells have refused it for a handover so far. */
  readonly refusals: number;
  /** Look at the map again, and go on. */
  readonly release: () => void;
  readonly expire: (error: AtollError) => void;
};

export type HoldOutcome =
  /** `leave` takes it out; harmless once it is out. */
  | { readonly kind: 'held'; readonly leave: () => void }
  | { readonly kind: 'full'; readonly bound: HoldBound; readonly error: AtollError };

type Entry = HoldRequest & { readonly sinceMs: number; readonly cancelExpiry: CancelAlarm };

/** The held calls of one namespace. */
type Queue = {
  readonly id: string;
  readonly entries: Map<number, Entry>;
  bytes: number;
  /** By the newest map. */
  placement: Placement;
  /** In handover: asks for a newer map. Active: sends the calls again although no newer map said so. */
  alarm: CancelAlarm | undefined;
};

/**
 * A cell opens its shards again a moment after the map told it to (PROTOCOLS 8: by records of their own), and no newer
 * map follows from that. So what it refused is sent again after this long, and after twice as long each further time.
 */
const RETRY_MS = 50;
const MAX_RETRY_MS = 1_000;
/** Calls that are released in one turn of the loop. */
const RELEASED_AT_ONCE = 64;
/** How often the map is asked for during a handover: who is told of a flip late keeps its callers waiting for nothing. */
const LOOK_MS = 500;

export type HoldParts = {
  readonly clock: Clock;
  readonly metrics: HoldMetrics;
  /** Asks for a newer map, of which `onMap` then hears. */
  readonly look: () => void;
};

export class Holds {
  readonly #bounds: HoldBounds;
  readonly #clock: Clock;
  readonly #metrics: HoldMetrics;
  readonly #look: () => void;
  readonly #queues = new Map<string, Queue>();
  #arrivals = 0;
  #calls = 0;
  #bytes = 0;

  constructor(bounds: HoldBounds, { clock, metrics, look }: HoldParts) {
    this.#bounds = bounds;
    this.#clock = clock;
    this.#metrics = metrics;
    this.#look = look;
  }

  /** The place of a call that begins now. */
  arrive(): number {
    this.#arrivals += 1;
    return this.#arrivals;
  }

  /** Holds the call, unless a bound is met. */
  hold(asked: HoldRequest): HoldOutcome {
    const { namespace, arrival, waitMs } = asked;
    const { placement } = namespace;
    const inHandover = placement.state.kind === 'handover';
    invariant(inHandover || asked.refusals > 0, 'a call is held though nobody said handover');
    const known = this.#queues.get(namespace.id);
    const bound = this.#fullAfter(known, asked.bytes);
    if (bound !== undefined) return this.#full(namespace, bound);
    const queue = known ?? this.#begin(namespace);
    invariant(!queue.entries.has(arrival), 'a call is held twice at a time');
    const cancelExpiry = this.#clock.after(waitMs, () => this.#expire(queue, entry));
    const entry: Entry = { ...asked, sinceMs: this.#clock.monotonicMs(), cancelExpiry };
    queue.entries.set(arrival, entry);
    queue.bytes += entry.bytes;
    this.#bytes += entry.bytes;
    this.#calls += 1;
    this.#metrics.now.set(this.#calls);
    this.#metrics.total.inc();
    const retryMs = Math.min(MAX_RETRY_MS, RETRY_MS * 2 ** (asked.refusals - 1));
    this.#arm(queue, inHandover ? LOOK_MS : retryMs);
    return { kind: 'held', leave: () => void this.#take(queue, entry, 'gone') };
  }

  /** Releases the calls of every namespace that is active by this map and was not, or not there, by the one before. */
  onMap(map: FleetMap): void {
    for (const queue of [...this.#queues.values()]) {
      const namespace = map.namespaces[queue.id];
      // One that was deleted meanwhile: the call finds out.
      if (namespace === undefined || namespace.state === 'deleted') {
        this.#release(queue);
        continue;
      }
      const before = queue.placement;
      queue.placement = namespace.placement;
      if (isSame(before, namespace.placement)) continue;
      disarm(queue);
      if (namespace.placement.state.kind === 'handover') this.#arm(queue, LOOK_MS);
      else this.#release(queue);
    }
  }

  #begin({ id, placement }: Namespace): Queue {
    const queue: Queue = { id, placement, entries: new Map(), bytes: 0, alarm: undefined };
    this.#queues.set(id, queue);
    return queue;
  }

  #arm(queue: Queue, delayMs: number): void {
    queue.alarm ??= this.#clock.after(delayMs, () => {
      queue.alarm = undefined;
      if (queue.placement.state.kind === 'active') return this.#release(queue);
      this.#look();
      this.#arm(queue, LOOK_MS);
    });
  }

  #release(queue: Queue): void {
    disarm(queue);
    // What is refused again, or comes while these leave, begins another queue.
    this.#queues.delete(queue.id);
    const inOrder = [...queue.entries.values()].sort((a, b) => a.arrival - b.arrival);
    this.#releaseFrom(queue, inOrder, 0);
  }

  #releaseFrom(queue: Queue, inOrder: readonly Entry[], from: number): void {
    const end = from + RELEASED_AT_ONCE;
    for (const entry of inOrder.slice(from, end)) {
      if (this.#take(queue, entry, 'released')) entry.release();
    }
    if (end < inOrder.length) this.#clock.after(0, () => this.#releaseFrom(queue, inOrder, end));
  }

  #expire(queue: Queue, entry: Entry): void {
    if (!this.#take(queue, entry, 'expired')) return;
    entry.expire(expired(entry, queue.placement, this.#clock.monotonicMs() - entry.sinceMs));
  }

  /** False if it has left already. */
  #take(queue: Queue, entry: Entry, end: HoldEnd): boolean {
    if (!queue.entries.delete(entry.arrival)) return false;
    entry.cancelExpiry();
    queue.bytes -= entry.bytes;
    this.#bytes -= entry.bytes;
    this.#calls -= 1;
    this.#metrics.now.set(this.#calls);
    this.#metrics.ms.observe(this.#clock.monotonicMs() - entry.sinceMs);
    this.#metrics.ends[end].inc();
    if (queue.entries.size === 0 && this.#queues.get(queue.id) === queue) {
      disarm(queue);
      this.#queues.delete(queue.id);
    }
    return true;
  }

  /** The first bound that one more call would break. */
  #fullAfter(queue: Queue | undefined, bytes: number): HoldBound | undefined {
    const would: Readonly<Record<HoldBound, number>> = {
      heldCallsPerNamespace: (queue?.entries.size ?? 0) + 1,
      heldBytesPerNamespace: (queue?.bytes ?? 0) + bytes,
      heldCalls: this.#calls + 1,
      heldBytes: this.#bytes + bytes,
    };
    return BOUNDS.find((bound) => would[bound] > this.#bounds[bound]);
  }

  #full(namespace: Namespace, bound: HoldBound): HoldOutcome {
    const own = bound === 'heldCallsPerNamespace' || bound === 'heldBytesPerNamespace';
    const what = bound.startsWith('heldBytes') ? 'bytes of requests' : 'calls';
    const message = `Namespace ${namespace.name} moves between cells, and this router holds at most ${this.#bounds[bound]} ${what}${own ? ' of a namespace' : ''} meanwhile (${bound}). Nothing was done: try again in a moment.`;
    const scope = own ? ResourceExhaustedScope.Namespace : ResourceExhaustedScope.System;
    const value = { cause: ResourceExhaustedCause.SystemOverloaded, scope };
    const detail = { type: 'ResourceExhaustedFailure', value };
    return {
      kind: 'full',
      bound,
      error: new AtollError('resource-exhausted', message, { detail }),
    };
  }
}

const BOUNDS: readonly HoldBound[] = [
  'heldCallsPerNamespace',
  'heldBytesPerNamespace',
  'heldCalls',
  'heldBytes',
];

function disarm(queue: Queue): void {
  queue.alarm?.();
  queue.alarm = undefined;
}

/** Whether a call that one of them refused would fare no better by the other. */
function isSame(a: Placement, b: Placement): boolean {
  return a.state.kind === b.state.kind && a.active === b.active && a.epoch === b.epoch;
}

function expired({ namespace }: HoldRequest, placement: Placement, heldMs: number): AtollError {
  const { active, state } = placement;
  const why =
    state.kind === 'handover'
      ? `is moving from cell ${active} to cell ${state.to}`
      : `is not open again in cell ${active} after a move`;
  const held = `its call was held for ${Math.round(heldMs)} ms, as long as it may be`;
  return new AtollError(
    'unavailable',
    `Namespace ${namespace.name} ${why}; ${held}. Nothing was done: try again.`,
  );
}
