/** All scenarios, in the order in which they run. */
import { idle } from './idle.ts';
import { memory } from './memory.ts';
import { oneActivityEager } from './one-activity-eager.ts';
import { oneActivity } from './one-activity.ts';
import { rate } from './rate.ts';
import { recovery } from './recovery.ts';
import { replication } from './replication.ts';
import { router } from './router.ts';
import type { Scenario } from './scenario.ts';
import { seq10 } from './seq10.ts';
import { signals } from './signals.ts';
import { timers } from './timers.ts';

export const SCENARIOS: readonly Scenario[] = [
  oneActivity,
  oneActivityEager,
  rate,
  seq10,
  signals,
  timers,
  router,
  idle,
  recovery,
  replication,
  memory,
];
