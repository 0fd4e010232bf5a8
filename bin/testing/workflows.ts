/** Workflow code of the end-to-end tests, run by the official SDK's worker. */
import {
  CancellationScope,
  condition,
  defineQuery,
  defineSignal,
  isCancellation,
  patched,
  proxyActivities,
  proxyLocalActivities,
  setHandler,
  sleep,
  upsertMemo,
} from '@temporalio/workflow';

type Activities = {
  greet(name: string): Promise<string>;
  failTimes(times: number): Promise<number>;
  failForEver(): Promise<void>;
  waitForCancel(): Promise<void>;
  heartbeatThenHang(): Promise<string>;
};

const { greet, failTimes, waitForCancel } = proxyActivities<Activities>({
  startToCloseTimeout: '20s',
  heartbeatTimeout: '5s',
  retry: { initialInterval: '50ms', maximumInterval: '100ms' },
});
const { heartbeatThenHang } = proxyActivities<Activities>({
  startToCloseTimeout: '20s',
  heartbeatTimeout: '500ms',
  retry: { initialInterval: '50ms' },
});
const { failForEver } = proxyActivities<Activities>({
  startToCloseTimeout: '5s',
  retry: { maximumAttempts: 1 },
});
const { greet: greetLocally } = proxyLocalActivities<Activities>({ startToCloseTimeout: '5s' });

export const addSignal = defineSignal<[number]>('add');
export const closeSignal = defineSignal('close');
export const totalQuery = defineQuery<number>('total');

/** One activity, its result. */
export async function hello(name: string): Promise<string> {
  return greet(name);
}

/** Sums signals until it is told to close; the sum can be queried. */
export async function summing(): Promise<number> {
  let total = 0;
  let closed = false;
  setHandler(addSignal, (n) => void (total += n));
  setHandler(closeSignal, () => void (closed = true));
  setHandler(totalQuery, () => total);
  await condition(() => closed);
  return total;
}

/** A timer beside activities in parallel, a local activity, a version marker. */
export async function mixed(): Promise<string> {
  const [, ...greetings] = await Promise.all([sleep(200), greet('a'), greet('b'), greet('c')]);
  const local = await greetLocally('local');
  return [...greetings, local, patched('newer') ? 'patched' : 'old'].join(' ');
}

export async function retrying(times: number): Promise<number> {
  return failTimes(times);
}

export async function settling(): Promise<string> {
  try {
    await failForEver();
    return 'no failure';
  } catch (error) {
    return `failed: ${error instanceof Error ? error.message : 'unknown'}`;
  }
}

/** Waits for an activity that only cancellation ends; tidies up in a scope of its own. */
export async function cancellable(): Promise<string> {
  try {
    await waitForCancel();
    return 'not cancelled';
  } catch (error) {
    if (!isCancellation(error)) throw error;
    return CancellationScope.nonCancellable(() => greet('after cancel'));
  }
}

export async function heartbeating(): Promise<string> {
  return heartbeatThenHang();
}

export async function sleepy(ms: number): Promise<string> {
  upsertMemo({ mood: 'sleepy' });
  await sleep(ms);
  return 'awake';
}

export async function throwing(): Promise<void> {
  throw new Error('the code is broken on purpose');
}
