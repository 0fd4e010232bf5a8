/**
 * The four timeouts that an activity is scheduled with, completed from those that its workflow gave.
 *
 * Invariants
 *  1. No single attempt and no wait may outlast schedule-to-close, nor the run's timeout; 0 = unlimited.
 *  2. Start-to-close is always limited: a lost worker is noticed in the end.
 */
import type { EventAttributes } from '../../../wire/events.ts';
import type { Duration } from '../../../wire/plain.ts';
import { durationMs, toDuration } from '../durations.ts';

const TIMEOUTS = [
  'scheduleToCloseTimeout',
  'scheduleToStartTimeout',
  'startToCloseTimeout',
  'heartbeatTimeout',
] as const;
type Timeout = (typeof TIMEOUTS)[number];

export type TimeoutsCheck =
  | {
      readonly kind: 'timeouts';
      readonly timeouts: Required<Pick<EventAttributes<'ActivityTaskScheduled'>, Timeout>>;
    }
  | { readonly kind: 'bad'; readonly message: string };

/** @param runTimeoutMs the run's own timeout, 0 = none */
export function activityTimeouts(
  asked: { readonly [T in Timeout]?: Duration | undefined },
  runTimeoutMs: number,
): TimeoutsCheck {
  for (const name of TIMEOUTS)
    if (!(durationMs(asked[name]) >= 0))
      return { kind: 'bad', message: `${name} is negative (${durationMs(asked[name])} ms)` };
  const close = durationMs(asked.scheduleToCloseTimeout);
  const attempt = durationMs(asked.startToCloseTimeout);
  if (close === 0 && attempt === 0)
    return { kind: 'bad', message: 'set startToCloseTimeout or scheduleToCloseTimeout' };

  // 0 is "no limit" here, so the smallest limit that is set wins.
  const scheduleToClose = smallest(close, runTimeoutMs);
  const startToClose = smallest(attempt, scheduleToClose);
  return {
    kind: 'timeouts',
    timeouts: {
      scheduleToCloseTimeout: toDuration(scheduleToClose),
      scheduleToStartTimeout: toDuration(
        smallest(durationMs(asked.scheduleToStartTimeout), scheduleToClose),
      ),
      startToCloseTimeout: toDuration(startToClose),
      // No heartbeat timeout stays none: not every activity heartbeats.
      heartbeatTimeout: toDuration(Math.min(durationMs(asked.heartbeatTimeout), startToClose)),
    },
  };
}

function smallest(a: number, b: number): number {
  if (a === 0 || b === 0) return Math.max(a, b);
  return Math.min(a, b);
}
