/** The workflow of a game day, run by the official SDK's worker: keeps what it is sent until it is told to close. */
import { condition, defineSignal, proxyActivities, setHandler } from '@temporalio/workflow';

type Activities = { note(what: string): Promise<void> };

const options = { startToCloseTimeout: '20s' } as const;
const { note } = proxyActivities<Activities>(options);
/** May be tried once: at most one worker executes it, once (P4). */
const once = proxyActivities<Activities>({ ...options, retry: { maximumAttempts: 1 } });

export const add = defineSignal<[string]>('add');
export const finish = defineSignal('finish');

/** How many tokens it was sent. `attempts` of its activities: 1, or as many as it takes. */
export async function collecting(attempts = 0): Promise<number> {
  const noted = attempts === 1 ? once.note : note;
  const tokens: string[] = [];
  let finished = false;
  setHandler(add, (token) => void tokens.push(token));
  setHandler(finish, () => void (finished = true));
  await noted('opened');
  await condition(() => finished);
  await noted('closed');
  return tokens.length;
}
