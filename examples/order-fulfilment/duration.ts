/** Durations as people write them on a command line. */

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Milliseconds of `500ms`, `15s`, `2m`, `1h`, `14d`. */
export function durationMs(text: string): number {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text) ?? [];
  const factor = UNITS[unit];
  if (!number || !factor) {
    throw new Error(`"${text}" is not a duration: write 500ms, 15s, 2m, 1h or 14d`);
  }
  return Number(number) * factor;
}
