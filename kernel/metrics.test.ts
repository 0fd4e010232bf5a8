/** The memory registry: series, kinds and bounds. */
import { describe, expect, it } from 'vitest';
import { MemoryMetrics, noMetrics } from './metrics.ts';

describe('MemoryMetrics', () => {
  it('gives the same series for the same name and labels in any order', () => {
    const metrics = new MemoryMetrics();
    metrics.counter('appends_total', { shard: '1', outcome: 'fenced' }).inc();
    metrics.counter('appends_total', { outcome: 'fenced', shard: '1' }).inc(2);
    metrics.counter('appends_total', { outcome: 'committed', shard: '1' }).inc(10);
    metrics.counter('appends_total_of_another').inc(100);
    expect(metrics.value('appends_total', { shard: '1', outcome: 'fenced' })).toBe(3);
    expect(metrics.sum('appends_total')).toBe(13);
  });

  it('keeps a gauge at its last value, and a histogram as sum and count', () => {
    const metrics = new MemoryMetrics();
    const depth = metrics.gauge('queue_depth');
    depth.set(7);
    depth.set(4);
    const append = metrics.histogram('append_ms');
    append.observe(2);
    append.observe(3.5);
    expect(metrics.value('queue_depth')).toBe(4);
    expect([metrics.value('append_ms'), metrics.count('append_ms')]).toEqual([5.5, 2]);
  });

  it('refuses a name of two kinds, a falling counter and a bad name', () => {
    const metrics = new MemoryMetrics();
    const counter = metrics.counter('appends_total');
    expect(() => metrics.gauge('appends_total')).toThrow('is a counter, not a gauge');
    expect(() => counter.inc(-1)).toThrow('cannot fall');
    expect(() => metrics.counter('Appends')).toThrow('snake case');
  });

  it('refuses a label with values without end', () => {
    const metrics = new MemoryMetrics();
    const bindAll = () => {
      for (let id = 0; id <= 10_000; id++) metrics.counter('x_total', { id: String(id) });
    };
    expect(bindAll).toThrow('more than 10000 series');
  });
});

describe('noMetrics', () => {
  it('takes everything and keeps nothing', () => {
    noMetrics.counter('a_total').inc();
    noMetrics.gauge('b').set(1);
    noMetrics.histogram('c_ms').observe(1);
    expect(Object.keys(noMetrics)).toEqual(['counter', 'gauge', 'histogram']);
  });
});
