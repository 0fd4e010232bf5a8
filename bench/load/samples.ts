/** Latencies kept whole and summed up at the end: exact percentiles, no histogram in between. */

/** What a set of samples says, in milliseconds. */
export type Summary = {
  readonly count: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
};

export class Samples {
  readonly #values: number[] = [];

  add(ms: number): void {
    this.#values.push(ms);
  }

  summary(): Summary | undefined {
    return summarise(this.#values);
  }
}

/** Undefined for no values: there is no percentile of nothing. */
export function summarise(values: readonly number[]): Summary | undefined {
  if (values.length === 0) return undefined;
  const sorted = Float64Array.from(values).toSorted();
  const at = (share: number) => round(quantile(sorted, share));
  return { count: values.length, p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) };
}

/** The value that this share of the sorted values lies below; the largest for a share of 1. */
function quantile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

/** The middle one of the values; of an even number, the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const low = sorted[Math.ceil(middle) - 1] ?? Number.NaN;
  const high = sorted[Math.floor(middle)] ?? Number.NaN;
  return (low + high) / 2;
}

/** To three decimals: microseconds of milliseconds. */
function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
