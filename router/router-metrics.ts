/** What a router measures, bound once: calls, errors of its own by code, retries, refusals, holds. */
import type { ErrorCode } from '../kernel/errors.ts';
import type { Counter, Gauge, Metrics } from '../kernel/metrics.ts';

export type RouterMetrics = {
  readonly calls: Counter;
  readonly retries: Counter;
  readonly inFlight: Gauge;
  /** Errors that the router itself answered with; those of cells pass through unread. */
  error(code: ErrorCode): void;
  limited(limit: string): void;
  /** 0 = the cell's breaker is closed, 1 = open. */
  breaker(cell: string): Gauge;
};

export function routerMetrics(metrics: Metrics): RouterMetrics {
  // No call is held yet: moves come later, and dashboards can be made now.
  metrics.gauge('router_holds').set(0);
  return {
    calls: metrics.counter('router_calls_total'),
    retries: metrics.counter('router_retries_total'),
    inFlight: metrics.gauge('router_calls_in_flight'),
    error: (code) => metrics.counter('router_errors_total', { code }).inc(),
    limited: (limit) => metrics.counter('router_limited_total', { limit }).inc(),
    breaker: (cell) => metrics.gauge('router_breaker_open', { cell }),
  };
}
