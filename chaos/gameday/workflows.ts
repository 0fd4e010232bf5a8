/** The workflow of a game day, run by the official SDK's worker: keeps what it is sent until it is told to close. */
import { condition, defineSignal, proxyActivities, setHandler } from '@temporalio/workflow';

type Activities = { note(what: string): Promise<void> };

const { note } = proxyActivities<Activities>({ startToCloseTimeout: '20s' });

export const add = defineSignal<[string]>('add');
export const finish = defineSignal('finish');

/** How many tokens it was sent. */
export async function collecting(): Promise<number> {
  const tokens: string[] = [];
  let finished = false;
  setHandler(add, (token) => void tokens.push(token));
  setHandler(finish, () => void (finished = true));
  await note('opened');
  await condition(() => finished);
  await note('closed');
  return tokens.length;
}
