/** What the router's pieces are handed by its composition (router.ts). */
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import type { Rng } from '../kernel/rng.ts';
import type { CachedFleetMap } from '../fleet/cached-map.ts';
import type { Rights } from '../fleet/rights.ts';
import type { RouterConfig } from './config.ts';
import type { RouterMetrics } from './router-metrics.ts';

export type RouterParts = {
  readonly map: CachedFleetMap;
  readonly config: RouterConfig;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly log: Log;
  readonly metrics: RouterMetrics;
  /** Who may do what of the router's own calls; undefined: everybody everything. */
  readonly rights?: Rights | undefined;
};
