/** The operators' port of a process (`--metrics-port`): metrics, health and readiness. Off when the port is 0. */
import type { Lifecycle } from '../kernel/lifecycle.ts';
import type { Log } from '../kernel/log.ts';
import { noMetrics, type Metrics } from '../kernel/metrics.ts';
import { METRIC_MEANINGS } from './metric-meanings.ts';

/** Where the operators' port listens; off without a port. */
export type OpsOptions = {
  readonly metricsHost?: string | undefined;
  readonly metricsPort?: number | undefined;
};

export type Ops = {
  readonly metrics: Metrics;
  /** Called before each scrape. */
  onScrape(look: () => void): void;
  /** One more thing that `/ready` asks: undefined once it serves, else what is missing. */
  require(missing: () => string | undefined): void;
  /** `host:port`; undefined when off. */
  readonly address: string | undefined;
};

export const NO_OPS: Ops = {
  metrics: noMetrics,
  onScrape: () => {},
  require: () => {},
  address: undefined,
};

/** Starts the port into `lifecycle`, before what it reports on. Say at once what is required. */
export async function startOps(
  listen: OpsOptions,
  ports: { readonly lifecycle: Lifecycle; readonly log: Log },
): Promise<Ops> {
  const { metricsHost: host = '127.0.0.1', metricsPort: port = 0 } = listen;
  if (port === 0) return NO_OPS;
  const { PromMetrics } = await import('../kernel/metrics-prom.ts');
  const { startOpsServer } = await import('../kernel/ops-server.ts');
  const metrics = new PromMetrics({ meanings: METRIC_MEANINGS, process: true });
  const required: (() => string | undefined)[] = [];
  const missing = () => required.map((one) => one()).filter((why) => why !== undefined);
  const server = await startOpsServer(
    { host, port },
    { scrape: () => metrics.scrape(), contentType: metrics.contentType, missing },
  );
  await ports.lifecycle.start({ name: 'metrics port', stop: () => server.close() });
  const address = `${server.address.host}:${server.address.port}`;
  ports.log.info({ metrics: `http://${address}/metrics` }, 'metrics, health and readiness');
  return {
    metrics,
    onScrape: (look) => void metrics.onScrape(look),
    require: (one) => void required.push(one),
    address,
  };
}
