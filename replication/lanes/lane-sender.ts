/**
 * All lanes of a cell (D9): fed by the owners of its shards, one lane per namespace and target, as the fleet map says.
 *
 * Place: the shards' LaneFeed; admins ask it for `status`. lane.ts does the sending, probes.ts tells targets that we live.
 *
 * Invariants
 *  1. A lane's position never passes a row with a step that its target needs and has not acknowledged (PROTOCOLS 7).
 *  2. Feeding never throws, and never waits: what cannot be queued puts the lane into copy.
 *  3. A namespace that no other cell keeps costs one look-up a step.
 */
import type {
  Delivery,
  LaneFeed,
  Replicas,
  ReplicatedStep,
} from '../../cell/shard/replicas/replicas.ts';
import type { Seq, ShardId } from '../../cell/storage/shard-log.ts';
import type { Clock } from '../../kernel/clock.ts';
import { AtollError, toAtollError } from '../../kernel/errors.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { Log } from '../../kernel/log.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import type { Rng } from '../../kernel/rng.ts';
import type { ReplicationConfig } from '../config.ts';
import type { LaneStatus } from '../control/control.ts';
import type { DeadLetters } from '../dead-letters.ts';
import type { FollowedMap } from '../followed-map.ts';
import { decodePositions, encodePositions, type SavedPosition } from './lane-positions.ts';
import { laneStatus } from './lane-status.ts';
import { lanesOf, writtenBy, type LaneKey } from './lanes-of-map.ts';
import { Lane } from './lane.ts';
import { LaneState } from './lane-state.ts';
import type { ReplicaPeer } from '../peer.ts';
import { Probes } from './probes.ts';
import { Quota } from './quota.ts';
import { entryOf } from './row-entries.ts';
import type { ShardCursor } from './shard-cursor.ts';
import { keyOf, rowsAfter, ShardFeed, type FedRow } from './shard-feed.ts';
import { readLog } from './read-log.ts';
import { Target } from './target.ts';

export type LaneSenderParts = {
  readonly cellId: string;
  readonly map: FollowedMap;
  readonly peerOf: (cellId: string) => ReplicaPeer;
  readonly deadLetters: DeadLetters;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly config: ReplicationConfig;
};

export class LaneSender implements LaneFeed {
  readonly #parts: LaneSenderParts;
  readonly #lanes = new Map<string, Lane>();
  readonly #byNamespace = new Map<string, Lane[]>();
  readonly #targets = new Map<string, Target>();
  readonly #feeds = new Map<ShardId, ShardFeed>();
  readonly #ends = new Map<ShardId, Seq>();
  readonly #probes: Probes;
  #replicas: Replicas | undefined;
  #unfollow: () => void = () => {};

  constructor(parts: LaneSenderParts) {
    this.#parts = parts;
    this.#probes = new Probes(parts, { targets: () => this.#targets.values() });
  }

  /** Begins: makes the lanes that the map wants. Call once, before a shard is opened. */
  start(replicas: Replicas): void {
    invariant(this.#replicas === undefined, 'the lanes are started once');
    this.#replicas = replicas;
    this.#unfollow = this.#parts.map.onChange(() => this.#followMap());
    this.#followMap();
  }

  /** Sends nothing more. What was not acknowledged is sent again by the next owner. */
  async close(): Promise<void> {
    this.#unfollow();
    this.#probes.close();
    for (const feed of this.#feeds.values()) feed.close(closed());
    await Promise.all([...this.#lanes.values()].map((lane) => lane.close()));
  }

  opened(
    shard: ShardId,
    position: { readonly saved: Uint8Array | undefined; readonly end: Seq },
  ): void {
    this.closed(shard);
    const feed = new ShardFeed(shard, this.#decode(shard, position.saved));
    this.#feeds.set(shard, feed);
    this.#ends.set(shard, position.end);
    for (const lane of this.#lanes.values()) this.#place(lane, feed);
    this.#load(feed);
    for (const lane of this.#lanes.values()) lane.wake();
  }

  committed(shard: ShardId, seq: Seq, steps: readonly ReplicatedStep[]): void {
    const feed = this.#feeds.get(shard);
    const end = this.#ends.get(shard);
    // Rows of the tail that are told again: lanes that lack them read them from the log.
    if (feed === undefined || end === undefined || seq <= end) return;
    this.#ends.set(shard, seq);
    if (this.#lanes.size === 0) return;
    if (!feed.keep({ seq, steps }, this.#parts.config.loadingBytes)) this.#giveUpLoading(feed);
    for (const step of steps) {
      const lanes = this.#byNamespace.get(step.transition.namespaceId);
      if (lanes !== undefined) this.#offer(lanes, { shard, seq, step });
    }
  }

  closed(shard: ShardId): void {
    this.#feeds.get(shard)?.close(closed());
    this.#feeds.delete(shard);
    this.#ends.delete(shard);
    for (const lane of this.#lanes.values()) lane.state.closed(shard);
  }

  releasable(shard: ShardId, upTo: Seq): Seq {
    let lowest = upTo;
    for (const { state } of this.#lanes.values()) {
      const position = state.holdsLog(shard) ? state.position(shard) : undefined;
      if (position !== undefined && position < lowest) lowest = position;
    }
    return lowest;
  }

  delivery(
    shard: ShardId,
    upTo: { readonly namespaceId: string; readonly runId: string; readonly seq: Seq },
  ): Delivery {
    const { cellId, map } = this.#parts;
    const active = map.namespaceById(upTo.namespaceId)?.placement.active;
    const deliveries = (this.#byNamespace.get(upTo.namespaceId) ?? [])
      .filter(({ state }) => active === cellId || state.key.target === active)
      .map(({ state }) => state.delivery(shard, upTo));
    return (
      deliveries.find((one) => one === 'runs') ??
      deliveries.find((one) => one === 'steps') ??
      'done'
    );
  }

  position(shard: ShardId): Uint8Array | undefined {
    const positions: SavedPosition[] = [];
    for (const { state } of this.#lanes.values()) {
      const seq = state.position(shard);
      const kind = state.cursor(shard)?.kind === 'copy' ? 'copy' : 'tail';
      const at = state.settledUpTo(shard, this.#parts.clock.now());
      if (seq !== undefined) positions.push({ ...state.key, kind, seq, at });
    }
    return encodePositions(positions);
  }

  /** @throws AtollError `not-found` where there is no such lane */
  status(key: LaneKey): LaneStatus {
    const lane = this.#lanes.get(keyOf(key));
    if (lane === undefined) {
      throw new AtollError(
        'not-found',
        `this cell has no lane for namespace ${key.namespaceId} to cell ${key.target}: add the cell to the namespace's replicas`,
      );
    }
    const { clock } = this.#parts;
    const { heardMs: probedMs, skewMs } = this.#targets.get(key.target) ?? {};
    return laneStatus(lane, {
      shards: [...this.#feeds.keys()],
      ...{ probedMs, skewMs },
      nowMs: clock.monotonicMs(),
      now: clock.now(),
    });
  }

  #decode(shard: ShardId, saved: Uint8Array | undefined): readonly SavedPosition[] {
    try {
      return decodePositions(saved);
    } catch (error) {
      const fields = { shard, error: toAtollError(error).message };
      this.#parts.log.error(fields, 'Saved lane positions cannot be read: all is copied.');
      return [];
    }
  }

  #place({ state }: Lane, feed: ShardFeed): void {
    const saved = feed.savedOf(state.key);
    const end = this.#ends.get(feed.shard) ?? (0 as Seq);
    if (saved === undefined) state.place(feed.shard, { kind: 'copy', since: 0 as Seq });
    else if (saved.kind === 'copy') {
      state.place(feed.shard, { kind: 'copy', since: saved.seq, at: saved.at });
    } else if (saved.seq >= end) state.place(feed.shard, { kind: 'tail' });
    else state.place(feed.shard, { kind: 'behind', after: saved.seq, at: saved.at });
  }

  /** Offers one step to lanes of its namespace. */
  #offer(
    lanes: readonly Lane[],
    row: { readonly shard: ShardId; readonly seq: Seq; readonly step: ReplicatedStep },
  ): void {
    const { shard, seq, step } = row;
    const { epoch, namespaceId } = step.transition;
    const namespace = this.#parts.map.namespaceById(namespaceId);
    let entry: ReturnType<typeof entryOf> | undefined;
    for (const lane of lanes) {
      const { target } = lane.state.key;
      if (writtenBy(namespace, { epoch, cell: target })) continue;
      try {
        entry ??= entryOf(shard, seq, step);
        if (lane.state.offer(entry)) this.#tellOverBudget(lane);
      } catch (error) {
        const fields = { shard, seq, error: toAtollError(error).message };
        this.#parts.log.error(fields, 'A step cannot be put on a lane: its runs are copied.');
        lane.state.copyFrom(shard, { seq, at: step.transition.at });
      }
      lane.wake();
    }
  }

  #tellOverBudget(lane: Lane): void {
    const { target } = lane.state.key;
    this.#targets.get(target)?.metrics.overBudget.inc();
    this.#parts.log.warn({ ...lane.state.key }, 'A lane is over its budget: it copies.');
  }

  /** Reads the log for the lanes that are behind in this shard. */
  #load(feed: ShardFeed): void {
    const lowest = this.#behind(feed.shard).map(({ after }) => after);
    if (lowest.length === 0 || feed.isLoading || this.#replicas === undefined) return;
    feed.beginLoading();
    // What commits from here on is kept by the feed.
    const through = this.#ends.get(feed.shard) ?? (0 as Seq);
    const ask = { shard: feed.shard, after: Math.min(...lowest) as Seq, through };
    readLog(this.#replicas, ask, { ...this.#parts, signal: feed.signal }).then(
      (rows) => this.#loaded(feed, rows),
      (error: unknown) => {
        if (feed.signal.aborted) return;
        const fields = { shard: feed.shard, error: toAtollError(error).message };
        this.#parts.log.warn(fields, 'The log cannot be read for the lanes: they copy.');
        this.#giveUpLoading(feed);
      },
    );
  }

  #loaded(feed: ShardFeed, read: readonly FedRow[]): void {
    if (!feed.isLoading || this.#feeds.get(feed.shard) !== feed) return;
    const { shard } = feed;
    const end = this.#ends.get(shard) ?? (0 as Seq);
    const all = feed.endLoading(read);
    for (const { lane, after, at } of this.#behind(shard)) {
      const rows = rowsAfter(all, { after, end });
      lane.state.place(shard, rows ? { kind: 'tail' } : { kind: 'copy', since: after, at });
      for (const { seq, steps } of rows ?? []) {
        for (const step of steps) {
          if (step.transition.namespaceId !== lane.state.key.namespaceId) continue;
          this.#offer([lane], { shard, seq, step });
        }
      }
      lane.wake();
    }
  }

  #giveUpLoading(feed: ShardFeed): void {
    feed.endLoading([]);
    for (const { lane, after, at } of this.#behind(feed.shard)) {
      lane.state.place(feed.shard, { kind: 'copy', since: after, at });
      lane.wake();
    }
  }

  #behind(shard: ShardId): (Extract<ShardCursor, { kind: 'behind' }> & { readonly lane: Lane })[] {
    return [...this.#lanes.values()].flatMap((lane) => {
      const cursor = lane.state.cursor(shard);
      return cursor?.kind === 'behind' ? [{ ...cursor, lane }] : [];
    });
  }

  /** Makes the lanes that the map wants, ends the others. */
  #followMap(): void {
    const wanted = new Map(
      lanesOf(this.#parts.map.map, this.#parts.cellId).map((key) => [keyOf(key), key] as const),
    );
    for (const [key, lane] of this.#lanes) if (!wanted.has(key)) this.#end(key, lane);
    for (const [key, lane] of wanted) if (!this.#lanes.has(key)) this.#begin(key, lane);
    this.#probes.wake();
  }

  #begin(name: string, key: LaneKey): void {
    const { config, clock, rng, peerOf, metrics } = this.#parts;
    const replicas = this.#replicas;
    invariant(replicas !== undefined, 'lanes are made after the start');
    let target = this.#targets.get(key.target);
    if (target === undefined) {
      target = new Target(key.target, { peer: peerOf(key.target), metrics, config });
      this.#targets.set(key.target, target);
    }
    const state = new LaneState(key, this.#ends, config);
    const log = this.#parts.log.child({ namespaceId: key.namespaceId, target: key.target });
    const { peer, slots } = target;
    const quota = new Quota(config.laneItemsPerSecond, clock.monotonicMs());
    const lane = new Lane(
      { ...this.#parts, replicas, state, peer, slots, quota, log, metrics: target.metrics },
      rng,
    );
    this.#lanes.set(name, lane);
    target.lanes.add(lane);
    const others = this.#byNamespace.get(key.namespaceId) ?? [];
    this.#byNamespace.set(key.namespaceId, [...others, lane]);
    for (const feed of this.#feeds.values()) {
      this.#place(lane, feed);
      this.#load(feed);
    }
    lane.wake();
  }

  #end(name: string, lane: Lane): void {
    const { namespaceId, target } = lane.state.key;
    this.#lanes.delete(name);
    const others = (this.#byNamespace.get(namespaceId) ?? []).filter((one) => one !== lane);
    if (others.length === 0) this.#byNamespace.delete(namespaceId);
    else this.#byNamespace.set(namespaceId, others);
    const known = this.#targets.get(target);
    known?.lanes.delete(lane);
    if (known?.lanes.size === 0) {
      this.#targets.delete(target);
      known.left();
    }
    for (const feed of this.#feeds.values()) feed.forget(lane.state.key);
    void lane.close();
  }
}

function closed(): AtollError {
  return new AtollError('cancelled', 'the shard is closed');
}
