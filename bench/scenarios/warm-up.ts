/** Load on a fresh engine that nobody records: its code is compiled and its caches are filled before the first round. */
import { sleep } from '../load/time.ts';
import type { Stage } from './stage.ts';

const CLIENTS = 64;

export async function warmUp(stage: Stage): Promise<void> {
  await stage.worker();
  const work = { kind: 'closed-loop', type: 'activities-1', clients: CLIENTS } as const;
  const load = await stage.load(work);
  load.tell({ kind: 'go' });
  await sleep(2 * stage.settings.warmupSeconds * 1000);
  await stage.clear();
}
