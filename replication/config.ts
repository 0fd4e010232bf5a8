/** Bounds and paces of replication, per cell. Units are in the names; every bound is named where it refuses (P11). */
import { invariant } from '../kernel/invariant.ts';
import type { BackOff } from '../kernel/retry.ts';

export type ReplicationConfig = {
  /** Encoded steps that a lane holds in memory; beyond it goes to copy (PROTOCOLS 7). */
  readonly laneQueueBytes: number;
  /** Age of the oldest step that a lane may wait for its target; beyond it goes to copy and frees the log. */
  readonly laneBudgetMs: number;
  /** Steps in one push, and their bytes; a larger step goes alone. */
  readonly pushItems: number;
  readonly pushBytes: number;
  /** A step beyond it does not travel as a step: its run's image goes instead, in parts. */
  readonly stepMaxBytes: number;
  /** From the beginning of a lane's push to that of its next one, at least: many steps share a call. */
  readonly pushEveryMs: number;
  /** Steps a second that one lane may send: a flood in one namespace leaves room for the others (P10). */
  readonly laneItemsPerSecond: number;
  /** What an image counts as, in steps. */
  readonly imageItems: number;
  /** Pushes in flight to one target, over all lanes; the others wait their turn. */
  readonly pushesPerTarget: number;
  /** Deadline of a push, a probe, a page of digests. */
  readonly callMs: number;
  /** Runs per page of a copy or a comparison. */
  readonly copyPageRuns: number;
  /** Images fetched and sent at a time by one lane. */
  readonly imageBatch: number;
  /** Bytes of an image in one call; a larger one goes in parts. */
  readonly imagePartBytes: number;
  /**
   * The slowest link for which an image is sent: a call of images has `callMs` and the time that their bytes need at this rate.
   * Half a megabyte a second; over less a lane could not bring the steps either.
   */
  readonly imageBytesPerSecond: number;
  /** The largest image that is sent or taken; a run beyond it is parked. */
  readonly imageMaxBytes: number;
  /** Half-received images kept by a receiver; together they hold at most `imageMaxBytes`. */
  readonly halfImages: number;
  /**
   * Times in a row that the target may answer `later` for a run, and take others meanwhile, before that is parked, so that the
   * lane's age does not count from it: about two minutes by `PUSH_BACK_OFF`, longer than a takeover there. In a copy the run's page waits meanwhile, beside
   * the steps: `copyTries`, some seconds.
   */
  readonly laterTries: number;
  readonly copyTries: number;
  /** The same for a run whose image fails the call that it has to itself: each try may last as long as the image may travel. */
  readonly imageTries: number;
  /** Runs that a lane may have parked before it stops and says so. */
  readonly parkedRuns: number;
  /** A parked run is tried again by its image after this time, doubling up to the maximum. */
  readonly repairAfterMs: number;
  readonly repairMaxMs: number;
  /** Pause between probes of a target while any namespace is replicated to it. */
  readonly probeEveryMs: number;
  /** Rows of a shard's log in one read of it. */
  readonly logPageRows: number;
  /** Rows of a shard that are read from its log for lanes that lack them, and those that may wait meanwhile. */
  readonly loadingBytes: number;
  /** Executions that the loss report holds. */
  readonly reportLimit: number;
  /** Looks at a run that differs, and the first pause between, which doubles, before it is called moving or different. */
  readonly compareLooks: number;
  readonly compareAgainMs: number;
};

export const defaultReplicationConfig: ReplicationConfig = {
  laneQueueBytes: 32 << 20,
  laneBudgetMs: 600_000,
  pushItems: 500,
  pushBytes: 1 << 20,
  stepMaxBytes: 4 << 20,
  pushEveryMs: 10,
  laneItemsPerSecond: 10_000,
  imageItems: 5,
  pushesPerTarget: 16,
  callMs: 10_000,
  copyPageRuns: 200,
  imageBatch: 16,
  imagePartBytes: 2 << 20,
  imageBytesPerSecond: 512 << 10,
  imageMaxBytes: 128 << 20,
  halfImages: 32,
  laterTries: 40,
  copyTries: 8,
  imageTries: 3,
  parkedRuns: 10_000,
  repairAfterMs: 10_000,
  repairMaxMs: 600_000,
  probeEveryMs: 1_000,
  logPageRows: 200,
  loadingBytes: 16 << 20,
  reportLimit: 10_000,
  compareLooks: 6,
  compareAgainMs: 150,
};

/** Between pushes to a target that does not answer. Without end: a lane never gives up. */
export const PUSH_BACK_OFF: BackOff = {
  name: 'lane-push',
  initialMs: 50,
  maxMs: 5_000,
  maxAttempts: Number.MAX_SAFE_INTEGER,
};

/** How long a call may take that carries so many bytes of images, ms. Pure. */
export function imagesMs(
  bytes: number,
  { callMs, imageBytesPerSecond }: Pick<ReplicationConfig, 'callMs' | 'imageBytesPerSecond'>,
): number {
  return callMs + Math.ceil((bytes * 1000) / imageBytesPerSecond);
}

/** The defaults with `changes`, relations asserted. */
export function replicationConfig(changes: Partial<ReplicationConfig> = {}): ReplicationConfig {
  const config = { ...defaultReplicationConfig, ...changes };
  for (const [name, value] of Object.entries(config)) {
    invariant(Number.isFinite(value) && value >= 1, `replication config ${name} is ${value}`);
  }
  invariant(
    config.pushBytes <= config.laneQueueBytes,
    'pushBytes must not exceed laneQueueBytes: a push is taken from the queue',
  );
  invariant(
    config.pushBytes <= config.stepMaxBytes,
    'pushBytes must not exceed stepMaxBytes: what is too large for a step goes alone',
  );
  invariant(
    config.imagePartBytes <= config.imageMaxBytes,
    'imagePartBytes must not exceed imageMaxBytes: an image has at least one part',
  );
  return config;
}
