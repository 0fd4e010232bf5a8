/**
 * A cell's ports, measured, and what only a look tells of it: shards owned, takeovers, scanner passes, backlog.
 *
 * Place: start-cell.ts puts its parts through here. Without a metrics port they stay as they are, at no cost.
 */
import { measuredHandler } from '../cell/frontend/measured-handler.ts';
import type { InMemoryMatching } from '../cell/matching/in-memory-matching.ts';
import { measuredMatching } from '../cell/matching/measured-matching.ts';
import type { Matching } from '../cell/matching/matching.ts';
import type { Engine } from '../cell/shard/engine.ts';
import { measuredEngine } from '../cell/shard/measured-engine.ts';
import type { ShardHost } from '../cell/shard/shard-host.ts';
import { measuredLog } from '../cell/storage/measured-log.ts';
import type { ShardLog } from '../cell/storage/shard-log.ts';
import type { Clock } from '../kernel/clock.ts';
import { noMetrics, withLabels, type Metrics } from '../kernel/metrics.ts';
import type { RpcHandler } from '../kernel/rpc/server-call.ts';
import { NO_OPS, type Ops } from './ops.ts';

type Queues = Pick<InMemoryMatching, 'backlogs'>;

/** Wraps each of a cell's ports. */
export type CellMeasures = {
  /** For parts that count by themselves; every series carries the cell's id. */
  readonly metrics: Metrics;
  log(log: ShardLog): ShardLog;
  matching<Started>(matching: Matching<Started>): Matching<Started>;
  engine(engine: Engine): Engine;
  handler(handle: RpcHandler): RpcHandler;
  readonly timerRang: ((lagMs: number) => void) | undefined;
  /** From now on scrapes look at these. */
  look(host: ShardHost, queues: Queues): void;
};

const UNMEASURED: CellMeasures = {
  metrics: noMetrics,
  log: (log) => log,
  matching: (matching) => matching,
  engine: (engine) => engine,
  handler: (handle) => handle,
  timerRang: undefined,
  look: () => {},
};

/** All series carry the cell's id, since one process may run several cells. */
export function measureCell(
  ops: Ops,
  of: { readonly cell: string; readonly clock: Clock },
): CellMeasures {
  if (ops === NO_OPS) return UNMEASURED;
  const { clock } = of;
  const metrics = withLabels(ops.metrics, { cell: of.cell });
  const lag = metrics.histogram('timer_lag_ms');
  return {
    metrics,
    timerRang: (lagMs) => lag.observe(lagMs),
    log: (log) => measuredLog(log, metrics, clock),
    matching: (matching) => measuredMatching(matching, metrics, clock),
    engine: (engine) => measuredEngine(engine, metrics, clock),
    handler: (handle) => measuredHandler(handle, metrics, clock),
    look: (host, queues) => ops.onScrape(lookAtCell(metrics, host, queues)),
  };
}

/** Returns the look. Counters of the shards may start again at 0 with an ownership: only growth is added. */
function lookAtCell(metrics: Metrics, host: ShardHost, queues: Queues): () => void {
  const owned = metrics.gauge('shards_owned');
  const missing = metrics.gauge('shards_missing');
  const tasks = metrics.gauge('backlog_tasks');
  const oldest = metrics.gauge('backlog_oldest_age_ms');
  const takeovers = growth(metrics, 'shard_takeovers_total');
  const passes = growth(metrics, 'scanner_passes_total');
  const runs = growth(metrics, 'scanner_runs_total');
  const heals = growth(metrics, 'scanner_heals_total');
  return () => {
    const counts = { owned: 0, missing: 0 };
    for (const owner of host.owners()) {
      counts[owner.current === undefined ? 'missing' : 'owned'] += 1;
      takeovers(owner.shard, owner.takeovers);
      passes(owner.shard, owner.scans?.passes ?? 0);
      runs(owner.shard, owner.scans?.runs ?? 0);
      heals(owner.shard, owner.scans?.healed ?? 0);
    }
    owned.set(counts.owned);
    missing.set(counts.missing);
    const backlog = queues.backlogs();
    tasks.set(backlog.tasks);
    oldest.set(backlog.oldestAgeMs);
  };
}

/** Adds to one counter what each shard's own count has grown by since the look before. */
function growth(metrics: Metrics, name: string): (shard: number, count: number) => void {
  const counter = metrics.counter(name);
  const before = new Map<number, number>();
  return (shard, count) => {
    const known = before.get(shard) ?? 0;
    counter.inc(count >= known ? count - known : count);
    before.set(shard, count);
  };
}

/** For `/ready`: undefined while every shard is owned. */
export function missingShards(host: ShardHost): string | undefined {
  const missing = [...host.owners()].filter((owner) => owner.current === undefined);
  if (missing.length === 0) return undefined;
  const names = missing.slice(0, 10).map((owner) => owner.shard);
  return `${missing.length} shards are not owned, among them ${names.join(', ')}`;
}
