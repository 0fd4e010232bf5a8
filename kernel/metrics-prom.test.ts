import { expect, test } from 'vitest';
import { PromMetrics } from './metrics-prom.ts';
import { withLabels } from './metrics.ts';

test('series are scraped under our prefix, with their labels and meaning', async () => {
  const metrics = new PromMetrics({ meanings: { calls_total: 'Calls of clients.' } });
  const calls = withLabels(metrics, { cell: 'a' }).counter('calls_total', { rpc: 'Start' });
  calls.inc();
  calls.inc(2);
  metrics.gauge('age_ms').set(7);
  const text = await metrics.scrape();
  expect(text).toContain('# HELP atoll_calls_total Calls of clients.');
  expect(text).toMatch(/^atoll_calls_total\{.*cell="a".*\} 3$/m);
  expect(text).toMatch(/^atoll_age_ms 7$/m);
});

test('the same name and labels give the same series, another kind or other labels are refused', () => {
  const metrics = new PromMetrics();
  metrics.counter('calls_total', { cell: 'a' });
  expect(() => metrics.counter('calls_total', { cell: 'b' })).not.toThrow();
  expect(() => metrics.counter('calls_total')).toThrow('labels');
  expect(() => metrics.gauge('calls_total', { cell: 'a' })).toThrow('not a gauge');
});

test('a histogram has buckets of its unit', async () => {
  const metrics = new PromMetrics();
  metrics.histogram('took_ms').observe(3);
  metrics.histogram('batch_rows').observe(3);
  const text = await metrics.scrape();
  expect(text).toContain('atoll_took_ms_bucket{le="5"} 1');
  expect(text).toContain('atoll_batch_rows_bucket{le="4"} 1');
});

test('what only a look can tell is looked at before each scrape', async () => {
  const metrics = new PromMetrics();
  const size = metrics.gauge('size');
  let now = 1;
  const forget = metrics.onScrape(() => size.set(now));
  expect(await metrics.scrape()).toContain('atoll_size 1');
  now = 2;
  expect(await metrics.scrape()).toContain('atoll_size 2');
  forget();
  now = 3;
  expect(await metrics.scrape()).toContain('atoll_size 2');
});
