/**
 * Metrics as a port: counters, gauges and histograms, bound once to a name and its labels, then used.
 *
 * Place: cross-cutting wrappers and owners of queues and caches take a `Metrics`; `bin/` names the real one.
 * Binding is the slow part and belongs into constructors: `inc`, `set` and `observe` are for hot paths.
 *
 * Invariants
 *  1. A name is one kind of instrument for ever, `snake_case`, with its unit at the end (`_ms`, `_bytes`, `_total`).
 *  2. Labels have few values: never ids, never texts of a caller.
 *  3. The same name and labels give the same series, however often they are bound.
 */
import { invariant } from './invariant.ts';

export type Labels = Readonly<Record<string, string>>;

/** Only grows. */
export interface Counter {
  /** Adds `by`, 1 by default, never negative. */
  inc(by?: number): void;
}

/** Goes up and down: sizes and ages. */
export interface Gauge {
  set(value: number): void;
}

/** A distribution: durations and sizes. */
export interface Histogram {
  observe(value: number): void;
}

export interface Metrics {
  counter(name: string, labels?: Labels): Counter;
  gauge(name: string, labels?: Labels): Gauge;
  histogram(name: string, labels?: Labels): Histogram;
}

const ignore = () => {};

/** Measures nothing, at no cost. */
export const noMetrics: Metrics = {
  counter: () => ({ inc: ignore }),
  gauge: () => ({ set: ignore }),
  histogram: () => ({ observe: ignore }),
};

/** The same metrics with these labels on every series: one part of several in a process. */
export function withLabels(metrics: Metrics, common: Labels): Metrics {
  return {
    counter: (name, labels) => metrics.counter(name, { ...common, ...labels }),
    gauge: (name, labels) => metrics.gauge(name, { ...common, ...labels }),
    histogram: (name, labels) => metrics.histogram(name, { ...common, ...labels }),
  };
}

type Kind = 'counter' | 'gauge' | 'histogram';
type Series = { readonly kind: Kind; value: number; count: number };

const NAME = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/;

/** Series that one memory registry holds; more means a label with too many values. */
const MAX_SERIES = 10_000;

/** Keeps the newest state of each series: for tests, and for what a developer asks of one process. */
export class MemoryMetrics implements Metrics {
  readonly #series = new Map<string, Series>();
  readonly #kinds = new Map<string, Kind>();

  counter(name: string, labels: Labels = {}): Counter {
    const series = this.#bind('counter', name, labels);
    return {
      inc(by = 1) {
        invariant(by >= 0, `${name}: a counter cannot fall by ${-by}`);
        series.value += by;
        series.count += 1;
      },
    };
  }

  gauge(name: string, labels: Labels = {}): Gauge {
    const series = this.#bind('gauge', name, labels);
    return {
      set(value) {
        series.value = value;
        series.count += 1;
      },
    };
  }

  histogram(name: string, labels: Labels = {}): Histogram {
    const series = this.#bind('histogram', name, labels);
    return {
      observe(value) {
        series.value += value;
        series.count += 1;
      },
    };
  }

  /** A counter's total, a gauge's last value, a histogram's sum; 0 where nothing was bound. */
  value(name: string, labels: Labels = {}): number {
    return this.#series.get(keyOf(name, labels))?.value ?? 0;
  }

  /** How often a series was used; 0 where nothing was bound. */
  count(name: string, labels: Labels = {}): number {
    return this.#series.get(keyOf(name, labels))?.count ?? 0;
  }

  /** The sum of a name's values over all labels. */
  sum(name: string): number {
    let sum = 0;
    for (const [key, series] of this.#series) {
      if (key === name || key.startsWith(`${name}{`)) sum += series.value;
    }
    return sum;
  }

  #bind(kind: Kind, name: string, labels: Labels): Series {
    invariant(NAME.test(name), `metric ${name} is not in snake case`);
    const known = this.#kinds.get(name) ?? kind;
    invariant(known === kind, `metric ${name} is a ${known}, not a ${kind}`);
    this.#kinds.set(name, kind);
    const key = keyOf(name, labels);
    const series = this.#series.get(key) ?? { kind, value: 0, count: 0 };
    this.#series.set(key, series);
    invariant(this.#series.size <= MAX_SERIES, `${name}: more than ${MAX_SERIES} series`);
    return series;
  }
}

function keyOf(name: string, labels: Labels): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}=${JSON.stringify(value)}`);
  return pairs.length === 0 ? name : `${name}{${pairs.toSorted().join(',')}}`;
}
