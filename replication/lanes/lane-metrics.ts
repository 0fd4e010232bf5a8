/** The series of the lanes to one target, all namespaces together: ids are no labels. */
import type { Counter, Gauge, Metrics } from '../../kernel/metrics.ts';

const OUTCOMES = [
  'applied',
  'known',
  'gap',
  'diverged',
  'lost',
  'refused',
  'undecided',
  'later',
] as const;
export type OutcomeKind = (typeof OUTCOMES)[number];

export type LaneMetrics = {
  /** Answers to steps, by outcome. */
  readonly steps: Readonly<Record<OutcomeKind, Counter>>;
  readonly images: Counter;
  readonly imageBytes: Counter;
  readonly pushes: Counter;
  readonly pushFailures: Counter;
  readonly pushBytes: Counter;
  readonly parked: Counter;
  readonly repaired: Counter;
  /** Queues dropped over their budget: the lane went to copy. */
  readonly overBudget: Counter;
  /** Measured with each probe: sums and the worst over the lanes. */
  readonly lanes: Gauge;
  readonly copying: Gauge;
  readonly pending: Gauge;
  readonly pendingBytes: Gauge;
  readonly lagMs: Gauge;
};

export function laneMetrics(metrics: Metrics, target: string): LaneMetrics {
  const labels = { target };
  const steps = Object.fromEntries(
    OUTCOMES.map((outcome) => [
      outcome,
      metrics.counter('replication_steps_total', { target, outcome }),
    ]),
  ) as Record<OutcomeKind, Counter>;
  return {
    steps,
    images: metrics.counter('replication_images_total', labels),
    imageBytes: metrics.counter('replication_image_bytes_total', labels),
    pushes: metrics.counter('replication_pushes_total', labels),
    pushFailures: metrics.counter('replication_push_failures_total', labels),
    pushBytes: metrics.counter('replication_push_bytes_total', labels),
    parked: metrics.counter('replication_parked_total', labels),
    repaired: metrics.counter('replication_repaired_total', labels),
    overBudget: metrics.counter('replication_over_budget_total', labels),
    lanes: metrics.gauge('replication_lanes', labels),
    copying: metrics.gauge('replication_lanes_copying', labels),
    pending: metrics.gauge('replication_pending_steps', labels),
    pendingBytes: metrics.gauge('replication_pending_bytes', labels),
    lagMs: metrics.gauge('replication_lag_ms', labels),
  };
}
