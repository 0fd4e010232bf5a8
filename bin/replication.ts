/**
 * Composes a cell's half of replication: lanes to other cells, the receiver of theirs, and the cell's control.
 *
 * Place: start-cell.ts gives `lanes` and `losses` to the shards, puts `handler` round the frontend's, and calls `start` with
 * the shards before they open.
 *
 * Invariants
 *  1. Until `start` nothing is received: calls are told to come again.
 */
import type { SecureClientSessionOptions } from 'node:http2';
import type { LaneFeed, Replicas } from '../cell/shard/replicas/replicas.ts';
import type { CachedFleetMap } from '../fleet/cached-map.ts';
import type { Clock } from '../kernel/clock.ts';
import { AtollError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import type { Metrics } from '../kernel/metrics.ts';
import type { Rng } from '../kernel/rng.ts';
import type { RpcHandler } from '../kernel/rpc/server-call.ts';
import { ServedCellControl } from '../replication/control/cell-control.ts';
import { replicationConfig, type ReplicationConfig } from '../replication/config.ts';
import type { DeadLetters } from '../replication/dead-letters.ts';
import { ImageParts } from '../replication/receiver/image-parts.ts';
import { LaneSender } from '../replication/lanes/lane-sender.ts';
import { LossRecorder } from '../replication/losses/loss-recorder.ts';
import type { LossKeeper } from '../cell/shard/replicas/loss.ts';
import type { Losses } from '../replication/losses/losses.ts';
import { PlacementFollower } from '../replication/placement-follower.ts';
import { Receiver } from '../replication/receiver/receiver.ts';
import { CellCalls } from '../replication/rpc/cell-calls.ts';
import { isReplicationPath, replicationRpcHandler } from '../replication/rpc/handler.ts';
import { PeerClient } from '../replication/rpc/peer-client.ts';
import { SourceReports } from '../replication/receiver/source-reports.ts';
import type { TokenKeyRing } from '../wire/signed-token.ts';

export type ReplicationOptions = {
  readonly cellId: string;
  readonly config?: Partial<ReplicationConfig> | undefined;
  /** TLS towards other cells; cleartext by default. */
  readonly tls?: SecureClientSessionOptions | undefined;
};

export type ReplicationPorts = {
  readonly clock: Clock;
  readonly rng: Rng;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly map: CachedFleetMap;
  readonly tokens: TokenKeyRing;
  readonly deadLetters: DeadLetters;
  readonly losses: Losses;
};

export type Replication = {
  /** What the shards feed. */
  readonly lanes: LaneFeed;
  /** What the shards tell of branches that lost here: never waits. */
  readonly losses: LossKeeper;
  /** Serves `atoll.replication.v1`, and leaves the rest to `next`. */
  handler(next: RpcHandler): RpcHandler;
  /** Call before a shard opens. */
  start(replicas: Replicas): void;
  /** Call once the shards are owned: from here they are told what the map says. */
  follow(): void;
  close(): Promise<void>;
};

export function composeReplication(
  options: ReplicationOptions,
  ports: ReplicationPorts,
): Replication {
  const { cellId, tls } = options;
  const { clock, map, tokens, rng } = ports;
  const config = replicationConfig(options.config);
  const calls = new CellCalls({ caller: { role: 'cell', name: cellId }, map, tokens, clock, tls });
  const peerOf = (target: string) => new PeerClient(target, { calls, rng, config });
  const shared = { ...ports, cellId, config, peerOf };
  const sender = new LaneSender(shared);
  const reports = new SourceReports(clock);
  const losses = new LossRecorder(shared);
  let serve: RpcHandler = notYet;
  let shards: Replicas | undefined;
  let follower: PlacementFollower | undefined;
  return {
    lanes: sender,
    losses,
    handler: (next) => (call) => (isReplicationPath(call.path) ? serve(call) : next(call)),
    start(replicas) {
      const receiver = new Receiver({ ...shared, replicas, reports });
      const control = new ServedCellControl({ ...shared, replicas, sender, reports, losses });
      const imageParts = new ImageParts(config);
      serve = replicationRpcHandler({ ...shared, receiver, imageParts, control });
      sender.start(replicas);
      shards = replicas;
    },
    follow() {
      if (shards) follower = new PlacementFollower({ ...shared, replicas: shards });
    },
    async close() {
      follower?.close();
      await sender.close();
      calls.close();
    },
  };
}

const notYet: RpcHandler = () =>
  Promise.reject(new AtollError('unavailable', 'this cell is starting; call again'));
