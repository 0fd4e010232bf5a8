/** The `grpc-timeout` header: at most eight digits and a unit. */

const UNIT_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};
const MOST = 99_999_999;

/** Milliseconds, or undefined for an absent or malformed header (treated as no deadline, like other servers do). */
export function parseTimeout(header: string | undefined): number | undefined {
  const match = header === undefined ? null : /^(\d{1,8})([HMSmun])$/.exec(header);
  const unit = UNIT_MS[match?.[2] ?? ''];
  return match === null || unit === undefined ? undefined : Number(match[1]) * unit;
}

/** The header for that many milliseconds, rounded up to the finest unit that holds it; less than 1 ms is 1 ms. */
export function formatTimeout(timeoutMs: number): string {
  const ms = Math.max(1, Math.ceil(timeoutMs));
  if (ms <= MOST) return `${ms}m`;
  const seconds = Math.ceil(ms / 1000);
  return seconds <= MOST ? `${seconds}S` : `${Math.min(MOST, Math.ceil(ms / 3_600_000))}H`;
}
