/**
 * The real metrics: prom-client's registry behind the `Metrics` port, in the text format that Prometheus scrapes.
 *
 * Place: named by composition roots only, and served by ops-server.ts. The one door of prom-client.
 *
 * Invariants
 *  1. Every name begins with `atoll_`; what prom-client says of the process itself keeps its usual names.
 *  2. A name has the same label keys for ever; buckets follow from its unit.
 *  3. Values that only a look can tell (sizes, ages) are set by the looks, once per scrape.
 */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { invariant } from './invariant.ts';
import type * as Port from './metrics.ts';

const PREFIX = 'atoll_';

/** From half a millisecond to what a timeout is. */
const MS_BUCKETS = [0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 60_000];
const BYTE_BUCKETS = [1, 4, 16, 64, 256, 1_024, 4_096].map((kib) => kib * 1_024);
const COUNT_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024];

type Instrument = Counter | Gauge | Histogram;
type Known = { readonly instrument: Instrument; readonly keys: string };

/** Meanings by name, for the `# HELP` line. */
export type MetricMeanings = Readonly<Record<string, string>>;

export class PromMetrics implements Port.Metrics {
  readonly #registry = new Registry();
  readonly #known = new Map<string, Known>();
  readonly #looks = new Set<() => void>();
  readonly #meanings: MetricMeanings;

  /** @param options `process`: also CPU, memory and event loop of this process */
  constructor(options: { readonly meanings?: MetricMeanings; readonly process?: boolean } = {}) {
    this.#meanings = options.meanings ?? {};
    if (options.process === true) collectDefaultMetrics({ register: this.#registry });
  }

  /** Content type of `scrape`. */
  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Calls `look` before each scrape, to set what only a look can tell. Returns how to stop that. */
  onScrape(look: () => void): () => void {
    this.#looks.add(look);
    return () => void this.#looks.delete(look);
  }

  /** All series, in the text format. */
  async scrape(): Promise<string> {
    for (const look of this.#looks) look();
    return this.#registry.metrics();
  }

  counter(name: string, labels: Port.Labels = {}): Port.Counter {
    const counter = this.#instrument(name, labels, (options) => new Counter(options));
    invariant(counter instanceof Counter, `metric ${name} is not a counter`);
    const bound = counter.labels(labels);
    return { inc: (by = 1) => bound.inc(by) };
  }

  gauge(name: string, labels: Port.Labels = {}): Port.Gauge {
    const gauge = this.#instrument(name, labels, (options) => new Gauge(options));
    invariant(gauge instanceof Gauge, `metric ${name} is not a gauge`);
    const bound = gauge.labels(labels);
    return { set: (value) => bound.set(value) };
  }

  histogram(name: string, labels: Port.Labels = {}): Port.Histogram {
    const make = (options: InstrumentOptions) =>
      new Histogram({ ...options, buckets: bucketsOf(name) });
    const histogram = this.#instrument(name, labels, make);
    invariant(histogram instanceof Histogram, `metric ${name} is not a histogram`);
    const bound = histogram.labels(labels);
    return { observe: (value) => bound.observe(value) };
  }

  #instrument(
    name: string,
    labels: Port.Labels,
    make: (options: InstrumentOptions) => Instrument,
  ): Instrument {
    const keys = Object.keys(labels).toSorted();
    const known = this.#known.get(name);
    if (known !== undefined) {
      invariant(known.keys === keys.join(), `metric ${name}: labels ${keys.join()}`);
      return known.instrument;
    }
    const help = this.#meanings[name] ?? name.replaceAll('_', ' ');
    const full = { name: PREFIX + name, help, labelNames: keys, registers: [this.#registry] };
    const instrument = make(full);
    this.#known.set(name, { instrument, keys: keys.join() });
    return instrument;
  }
}

type InstrumentOptions = {
  readonly name: string;
  readonly help: string;
  readonly labelNames: string[];
  readonly registers: Registry[];
};

function bucketsOf(name: string): number[] {
  if (name.endsWith('_ms')) return MS_BUCKETS;
  return name.endsWith('_bytes') ? BYTE_BUCKETS : COUNT_BUCKETS;
}
