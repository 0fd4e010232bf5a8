/** What all shards of a host share, handed to each ownership. */
import type { Clock } from '../../kernel/clock.ts';
import type { Log } from '../../kernel/log.ts';
import type { Rng } from '../../kernel/rng.ts';
import type { HistoryLimits } from '../history/decision.ts';
import type { Matching } from '../matching/matching.ts';
import type { CachedRun } from './runs/cached.ts';
import type { ShardConfig } from './config.ts';
import type { IndexWriter } from './views/index-writer.ts';
import type { LossBook } from './replicas/loss-book.ts';
import type { PlacementView } from './mark.ts';
import type { LaneFeed } from './replicas/replicas.ts';
import type { LogWriter } from './log/log-writer.ts';
import type { ReadBarrier } from './log/read-barrier.ts';
import type { ViewLoader } from './views/view-loader.ts';

export type HostParts = {
  readonly clock: Clock;
  readonly rng: Rng;
  readonly log: Log;
  readonly config: ShardConfig;
  readonly limits: HistoryLimits;
  readonly matching: Matching;
  readonly writer: LogWriter;
  readonly barrier: ReadBarrier;
  readonly loader: ViewLoader;
  readonly index: IndexWriter;
  /** Told of each commit of a run: queries wait for it. */
  readonly queries: { committed(run: CachedRun): void };
  /** The namespace's epoch by this cell's map; for inputs that no call brought. */
  readonly epochOf: (namespaceId: string) => number;
  /** Where the namespace is placed by this cell's map; undefined: the map does not name it, and nothing forbids. */
  readonly placementOf: (namespaceId: string) => PlacementView | undefined;
  /** Told when a shard closes a namespace or stands by for it, by the mark's map revision. */
  readonly stoppedActing: (namespaceId: string, revision: number) => void;
  /** Told of what becomes durable; lanes feed on it (D9). */
  readonly lanes: LaneFeed;
  /** Told of what branches lost here. */
  readonly losses: Pick<LossBook, 'note'>;
  /** Told how late each clock of a run rang, for metrics. */
  readonly timerRang?: ((lagMs: number) => void) | undefined;
  /** There is something to checkpoint. */
  readonly dirty: () => void;
};
