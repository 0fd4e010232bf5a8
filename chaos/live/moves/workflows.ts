/** The workflows that are moved about, run by the official SDK's worker: both work on each token that they are sent. */
import {
  condition,
  defineSignal,
  proxyActivities,
  proxyLocalActivities,
  setHandler,
} from '@temporalio/workflow';

type Activities = { once(token: string): Promise<void>; dwell(): Promise<void> };

/** One attempt: lost with its cell it fails, and is never tried again. */
const { once } = proxyActivities<Activities>({
  startToCloseTimeout: '10s',
  scheduleToStartTimeout: '60s',
  retry: { maximumAttempts: 1 },
});
const { dwell } = proxyLocalActivities<Activities>({ startToCloseTimeout: '10s' });

export const add = defineSignal<[string]>('add');
export const finish = defineSignal('finish');

/** Each token by an activity of one attempt. Returns how many there were. */
export async function working(): Promise<number> {
  // That it failed is no matter here; that it ran twice would be.
  return eachToken((token) => once(token).catch(() => {}));
}

/** Each token within its workflow task, which stays open for it: signals that come meanwhile are buffered. */
export async function dwelling(): Promise<number> {
  return eachToken(() => dwell());
}

async function eachToken(work: (token: string) => Promise<void>): Promise<number> {
  const queue: string[] = [];
  let [worked, finished] = [0, false];
  setHandler(add, (token) => void queue.push(token));
  setHandler(finish, () => void (finished = true));
  while (!finished || queue.length > 0) {
    await condition(() => finished || queue.length > 0);
    const token = queue.shift();
    if (token === undefined) continue;
    await work(token);
    worked += 1;
  }
  return worked;
}
