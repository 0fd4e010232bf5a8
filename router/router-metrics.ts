/** What a router measures, bound once: calls, errors of its own by code, retries, refusals, holds. */
import type { ErrorCode } from '../kernel/errors.ts';
import type { Counter, Gauge, Histogram, Metrics } from '../kernel/metrics.ts';

/** How a hold ended: `gone` is its client, or the router that closes. */
export type HoldEnd = 'released' | 'expired' | 'gone';

export type HoldMetrics = {
  /** Calls held now. */
  readonly now: Gauge;
  readonly total: Counter;
  /** How long holds were, whatever ended them. */
  readonly ms: Histogram;
  readonly ends: Readonly<Record<HoldEnd, Counter>>;
};

export type RouterMetrics = {
  readonly calls: Counter;
  readonly retries: Counter;
  readonly inFlight: Gauge;
  /** Errors that the router itself answered with; those of cells pass through unread. */
  error(code: ErrorCode): void;
  limited(limit: string): void;
  readonly holds: HoldMetrics;
  /** 0 = the cell's breaker is closed, 1 = open. */
  breaker(cell: string): Gauge;
};

export function routerMetrics(metrics: Metrics): RouterMetrics {
  return {
    calls: metrics.counter('router_calls_total'),
    retries: metrics.counter('router_retries_total'),
    inFlight: metrics.gauge('router_calls_in_flight'),
    error: (code) => metrics.counter('router_errors_total', { code }).inc(),
    limited: (limit) => metrics.counter('router_limited_total', { limit }).inc(),
    holds: holdMetrics(metrics),
    breaker: (cell) => metrics.gauge('router_breaker_open', { cell }),
  };
}

function holdMetrics(metrics: Metrics): HoldMetrics {
  const now = metrics.gauge('router_holds');
  now.set(0);
  const end = (how: HoldEnd) => metrics.counter('router_hold_ends_total', { end: how });
  return {
    now,
    total: metrics.counter('router_held_total'),
    ms: metrics.histogram('router_hold_ms'),
    ends: { released: end('released'), expired: end('expired'), gone: end('gone') },
  };
}
