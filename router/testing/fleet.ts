/** A router before two fake cells, for tests end to end. What is opened here is closed by `cleanUp`, last first. */
import { CachedFleetMap } from '../../fleet/cached-map.ts';
import { twoCells } from '../../fleet/conformance/sample.ts';
import { MemoryFleetMap } from '../../fleet/memory/fleet-map.ts';
import { noBreaker, type MakeBreaker } from '../../kernel/breaker.ts';
import { systemClock } from '../../kernel/clock.ts';
import { silentLog } from '../../kernel/log.ts';
import { MemoryMetrics, noMetrics, type Metrics } from '../../kernel/metrics.ts';
import { systemRng } from '../../kernel/rng.ts';
import { startRouter, type RunningRouter } from '../router.ts';
import { echo, startFakeCell, type FakeCell, type SeenCall } from './fake-cell.ts';
import { RawClient } from './raw-client.ts';

/** What to close after the test. */
export const cleanups: (() => Promise<unknown> | void)[] = [];

export async function cleanUp(): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}

type Answers = { east?: (call: SeenCall) => void; west?: (call: SeenCall) => void };

/** A router before two cells; namespace `orders` is active in east. */
export async function fleet(
  answers: Answers = {},
  config: Parameters<typeof startRouter>[0]['config'] = {},
) {
  const east = await cell(answers.east);
  const west = await cell(answers.west);
  const map = twoCells('orders');
  const cells = {
    east: { region: 'e', shards: 4, address: east.address },
    west: { region: 'w', shards: 4, address: west.address },
  };
  const store = new MemoryFleetMap({ ...map, cells });
  const cached = await followed(store);
  const metrics = new MemoryMetrics();
  const running = await router(cached, 0, { config, metrics });
  const client = new RawClient(running);
  cleanups.push(() => client.close());
  return { client, east, west, store, router: running, map: cached, metrics };
}

async function cell(answer: (call: SeenCall) => void = echo): Promise<FakeCell> {
  const started = await startFakeCell(answer);
  let killed = false;
  const kill = async () => {
    if (!killed) await started.kill();
    killed = true;
  };
  cleanups.push(kill);
  return { ...started, kill };
}

/** A follower of that store. */
export async function followed(store: MemoryFleetMap): Promise<CachedFleetMap> {
  const cached = await CachedFleetMap.open({ store, log: silentLog, clock: systemClock });
  cleanups.push(() => cached.close());
  return cached;
}

type RouterOptions = {
  readonly config?: object;
  readonly makeBreaker?: MakeBreaker;
  readonly metrics?: Metrics;
};

/** Another router on that map. */
export async function router(
  map: CachedFleetMap,
  port = 0,
  { config = {}, makeBreaker = noBreaker, metrics = noMetrics }: RouterOptions = {},
): Promise<RunningRouter> {
  const running = await startRouter({
    listen: { host: '127.0.0.1', port },
    map,
    log: silentLog,
    clock: systemClock,
    rng: systemRng,
    config: { drainMs: 50, ...config },
    makeBreaker,
    metrics,
  });
  let closing: Promise<void> | undefined;
  const close = () => (closing ??= running.close());
  cleanups.push(close);
  return { ...running, close };
}
