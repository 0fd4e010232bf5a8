/**
 * How much one namespace may ask for (P10): calls and starts a second, each a token bucket that holds one second.
 *
 * Place: asked by call.ts before a call leaves for its cell. A refusal says when to come back; nothing queues here.
 *
 * Invariants
 *  1. At most one pair of buckets for each namespace of the map (P11).
 *  2. One namespace's calls never take another's tokens.
 */
import type { Clock } from '../kernel/clock.ts';
import { AtollError } from '../kernel/errors.ts';
import type { FleetMap, Namespace } from '../fleet/map.ts';
import { ResourceExhaustedCause, ResourceExhaustedScope } from '../wire/enums.ts';
import { workflowPath } from '../wire/services.ts';
import type { RouterConfig } from './config.ts';

type Limits = Pick<RouterConfig, 'namespaceCallsPerSecond' | 'namespaceStartsPerSecond'>;
export type LimitName = keyof Limits;
export type Refusal = { readonly limit: LimitName; readonly error: AtollError };

const STARTS: ReadonlySet<string> = new Set([
  workflowPath('StartWorkflowExecution'),
  workflowPath('SignalWithStartWorkflowExecution'),
  workflowPath('ExecuteMultiOperation'),
]);
const WHAT = { namespaceCallsPerSecond: 'calls', namespaceStartsPerSecond: 'starts' } as const;

export class NamespaceLimits {
  readonly #limits: Limits;
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Readonly<Record<LimitName, TokenBucket>>>();

  constructor(limits: Limits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Takes a token for a call; undefined if there was one. */
  refuse(namespace: Namespace, path: string): Refusal | undefined {
    const buckets = this.#buckets.get(namespace.id) ?? this.#make(namespace.id);
    return (
      this.#take(namespace, 'namespaceCallsPerSecond', buckets) ??
      (STARTS.has(path) ? this.#take(namespace, 'namespaceStartsPerSecond', buckets) : undefined)
    );
  }

  /** Forgets namespaces that have left the map. */
  keepOnly(map: FleetMap): void {
    for (const id of this.#buckets.keys()) {
      if (!Object.hasOwn(map.namespaces, id)) this.#buckets.delete(id);
    }
  }

  #take(
    namespace: Namespace,
    limit: LimitName,
    buckets: Readonly<Record<LimitName, TokenBucket>>,
  ): Refusal | undefined {
    const waitMs = buckets[limit].take(this.#clock.monotonicMs());
    if (waitMs === 0) return undefined;
    const message = `Namespace ${namespace.name} makes more than ${this.#limits[limit]} ${WHAT[limit]} a second (${limit}): try again in ${waitMs} ms.`;
    const value = {
      cause: ResourceExhaustedCause.RpsLimit,
      scope: ResourceExhaustedScope.Namespace,
    };
    const error = new AtollError('resource-exhausted', message, {
      detail: { type: 'ResourceExhaustedFailure', value },
      // What gRPC clients with a retry policy wait for.
      trailers: { 'grpc-retry-pushback-ms': String(waitMs) },
    });
    return { limit, error };
  }

  #make(id: string): Readonly<Record<LimitName, TokenBucket>> {
    const now = this.#clock.monotonicMs();
    const buckets = {
      namespaceCallsPerSecond: new TokenBucket(this.#limits.namespaceCallsPerSecond, now),
      namespaceStartsPerSecond: new TokenBucket(this.#limits.namespaceStartsPerSecond, now),
    };
    this.#buckets.set(id, buckets);
    return buckets;
  }
}

/** Fills evenly, holds one second's worth, and starts full. */
class TokenBucket {
  readonly #perSecond: number;
  #tokens: number;
  #filledAtMs: number;

  constructor(perSecond: number, nowMs: number) {
    this.#perSecond = perSecond;
    this.#tokens = perSecond;
    this.#filledAtMs = nowMs;
  }

  /** Takes a token; 0 if there was one, else the milliseconds until there will be. */
  take(nowMs: number): number {
    const filled = this.#tokens + ((nowMs - this.#filledAtMs) / 1_000) * this.#perSecond;
    this.#tokens = Math.min(this.#perSecond, filled);
    this.#filledAtMs = nowMs;
    if (this.#tokens >= 1) {
      this.#tokens -= 1;
      return 0;
    }
    return Math.max(1, Math.ceil(((1 - this.#tokens) / this.#perSecond) * 1_000));
  }
}
