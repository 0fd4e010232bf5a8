/**
 * What a process does when one of its shards stops for good. Under `single` membership a shard that was taken over means
 * that another process serves this cell: this one ends with exit code 3 and does not take back (PROTOCOLS 2).
 */
import type { Stop } from '../cell/shard/shard-owner.ts';
import type { ShardId } from '../cell/storage/shard-log.ts';
import type { Log } from '../kernel/log.ts';
import { EXIT } from './exit-codes.ts';

export function fencedExit(log: Log): (shard: ShardId, stop: Stop) => void {
  return (shard, stop) => {
    if (stop.kind !== 'lost') return;
    log.error(
      { shard, range: stop.to },
      'another process took over a shard of this cell: this one stops serving. Is a second `atoll cell` running on the same database?',
    );
    process.exit(EXIT.fenced);
  };
}
