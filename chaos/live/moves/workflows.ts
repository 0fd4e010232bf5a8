/** The workflow that is moved about, run by the official SDK's worker: each token is worked on once, at most. */
import { condition, defineSignal, proxyActivities, setHandler } from '@temporalio/workflow';

type Activities = { once(token: string): Promise<void> };

/** One attempt: lost with its cell it fails, and is never tried again. */
const { once } = proxyActivities<Activities>({
  startToCloseTimeout: '10s',
  scheduleToStartTimeout: '60s',
  retry: { maximumAttempts: 1 },
});

export const add = defineSignal<[string]>('add');
export const finish = defineSignal('finish');

/** Works on each token that it is sent, until it is told to close; how many it was sent. */
export async function working(): Promise<number> {
  const queue: string[] = [];
  let [worked, finished] = [0, false];
  setHandler(add, (token) => void queue.push(token));
  setHandler(finish, () => void (finished = true));
  while (!finished || queue.length > 0) {
    await condition(() => finished || queue.length > 0);
    const token = queue.shift();
    if (token === undefined) continue;
    // That it failed is no matter here; that it ran twice would be.
    await once(token).catch(() => {});
    worked += 1;
  }
  return worked;
}
