/** How long a long poll may last: our bound, and a little less than what the client allows. */
import type { FrontendCall } from './frontend-call.ts';
import type { FrontendConfig } from './config.ts';

/**
 * @param boundMs our own bound
 * @returns milliseconds; answers after it would come too late for the client or keep a silent connection too long
 */
export function longPollMs(
  config: Pick<FrontendConfig, 'answerEarlyMs'>,
  boundMs: number,
  call: FrontendCall,
): number {
  if (call.deadlineMs === undefined) return boundMs;
  // A client in a hurry still gets the larger part of its time.
  const early = Math.min(config.answerEarlyMs, call.deadlineMs / 4);
  return Math.max(0, Math.min(boundMs, call.deadlineMs - early));
}
