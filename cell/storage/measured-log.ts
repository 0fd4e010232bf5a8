/**
 * The log port, measured: how long appends take, how much they carry, and what became of them (habit 8).
 * Place: between the shards and the adapter, put there by bin/.
 */
import type { Clock } from '../../kernel/clock.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import type { ShardLog } from './shard-log.ts';

export function measuredLog(log: ShardLog, metrics: Metrics, clock: Clock): ShardLog {
  const rows = metrics.histogram('append_batch_rows');
  const bytes = metrics.histogram('append_batch_bytes');
  const tookMs = metrics.histogram('append_ms');
  const outcomes = {
    committed: metrics.counter('append_rows_total', { outcome: 'committed' }),
    fenced: metrics.counter('append_rows_total', { outcome: 'fenced' }),
    unknown: metrics.counter('append_rows_total', { outcome: 'unknown' }),
    'stale-session': metrics.counter('append_rows_total', { outcome: 'stale-session' }),
  };
  const checkpointMs = metrics.histogram('checkpoint_ms');
  const checkpointed = metrics.counter('checkpointed_shards_total');
  const failedCheckpoints = metrics.counter('checkpoint_failures_total');
  const barrierMs = metrics.histogram('read_barrier_ms');
  const claims = metrics.counter('takeover_claims_total');
  return {
    async append(batch, session, signal) {
      const begun = clock.monotonicMs();
      rows.observe(batch.length);
      bytes.observe(batch.reduce((sum, row) => sum + row.record.length, 0));
      const settled = await log.append(batch, session, signal);
      tookMs.observe(clock.monotonicMs() - begun);
      for (const { kind } of settled) outcomes[kind].inc();
      return settled;
    },
    async verify(asked, signal) {
      const begun = clock.monotonicMs();
      const verdict = await log.verify(asked, signal);
      barrierMs.observe(clock.monotonicMs() - begun);
      return verdict;
    },
    claim(shard, signal) {
      claims.inc();
      return log.claim(shard, signal);
    },
    position: (shard, signal) => log.position(shard, signal),
    tail: (shard, signal) => log.tail(shard, signal),
    rowsAfter: (shard, page, signal) => log.rowsAfter(shard, page, signal),
    async checkpoint(batch, signal) {
      const begun = clock.monotonicMs();
      try {
        const moved = await log.checkpoint(batch, signal);
        checkpointed.inc(moved.length);
        return moved;
      } catch (error) {
        failedCheckpoints.inc();
        throw error;
      } finally {
        checkpointMs.observe(clock.monotonicMs() - begun);
      }
    },
  };
}
