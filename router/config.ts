/** The router's configuration: every value with its unit, default and range (flags and environment are named alike). */
import { invariant } from '../kernel/invariant.ts';

export type RouterConfig = {
  /** What GetSystemInfo and GetClusterInfo say; SDKs and the UI read the leading numbers. */
  readonly serverVersion: string;
  readonly clusterName: string;
  /** Region whose cells get new namespaces; undefined: any region. */
  readonly defaultRegion: string | undefined;
  /**
   * Refuse the gzipped GetSystemInfo with which clients on sdk-core (TypeScript, Python, .NET, Ruby) probe, so that
   * they ask again plainly and send plain requests from then on: inflating costs the cell more than the bytes cost
   * inside a region. They keep their capabilities. Off where clients are far away.
   */
  readonly refuseGzipProbe: boolean;
  /** Bytes of a request kept until its answer begins, so that it can be sent again to the owner. 0 … 64 MiB. */
  readonly maxReplayBytes: number;
  /** Bytes of a request gathered before its call to the cell begins; smaller ones are sent in one piece. */
  readonly gatherBytes: number;
  /** Bytes of a request that the router answers itself. 1 KiB … 4 MiB. */
  readonly maxLocalBytes: number;
  /** HTTP/2 connections to each cell: several cut the tail at many calls in flight. 1 … 64. */
  readonly sessionsPerCell: number;
  /** Concurrent HTTP/2 streams that one client connection may open. */
  readonly maxStreamsPerClient: number;
  /** Calls a second that one namespace may make. The default is far above what one cell can serve. */
  readonly namespaceCallsPerSecond: number;
  /** Starts a second among them. */
  readonly namespaceStartsPerSecond: number;
  /** How long a call without a deadline of its own is held while its namespace moves. 100 ms … 10 min. */
  readonly holdMs: number;
  /** Calls of one namespace that are held at a time; beyond, they are refused. 1 … `heldCalls`. */
  readonly heldCallsPerNamespace: number;
  /** Calls of all namespaces together that are held at a time. At most 1,000,000. */
  readonly heldCalls: number;
  /** Bytes of the held requests of one namespace. 1 KiB … `heldBytes`. */
  readonly heldBytesPerNamespace: number;
  /** Bytes of the held requests of all namespaces together. */
  readonly heldBytes: number;
  /** How often cells may refuse one call for a handover before it is given up. 1 … 100. */
  readonly maxHandoverRefusals: number;
  /** How long a change of the fleet map (a registration) may take. */
  readonly mapUpdateMs: number;
  /** How long `close` waits for calls in flight before it cuts them off. */
  readonly drainMs: number;
};

export const DEFAULT_ROUTER_CONFIG: RouterConfig = {
  serverVersion: '1.29.0-atoll',
  clusterName: 'atoll',
  defaultRegion: undefined,
  refuseGzipProbe: true,
  maxReplayBytes: 8 * 1024 * 1024,
  gatherBytes: 64 * 1024,
  maxLocalBytes: 1024 * 1024,
  sessionsPerCell: 4,
  maxStreamsPerClient: 10_000,
  namespaceCallsPerSecond: 50_000,
  namespaceStartsPerSecond: 5_000,
  holdMs: 10_000,
  heldCallsPerNamespace: 10_000,
  heldCalls: 50_000,
  heldBytesPerNamespace: 64 * 1024 * 1024,
  heldBytes: 256 * 1024 * 1024,
  maxHandoverRefusals: 8,
  mapUpdateMs: 10_000,
  drainMs: 2_000,
};

/** The defaults with `given` on top. A value out of range is a mistake of the composition root. */
export function routerConfig(given: Partial<RouterConfig> = {}): RouterConfig {
  const config = { ...DEFAULT_ROUTER_CONFIG, ...given };
  invariant(
    config.maxReplayBytes >= 0 && config.maxReplayBytes <= 64 * 1024 * 1024,
    'maxReplayBytes: 0 to 64 MiB',
  );
  invariant(
    config.gatherBytes >= 1 && config.gatherBytes <= 1024 * 1024,
    'gatherBytes: 1 byte to 1 MiB',
  );
  invariant(
    config.namespaceCallsPerSecond >= 1 && config.namespaceStartsPerSecond >= 1,
    'namespaceCallsPerSecond, namespaceStartsPerSecond: at least 1',
  );
  invariant(config.maxStreamsPerClient >= 1, 'maxStreamsPerClient: at least 1');
  checkHolds(config);
  return config;
}

function checkHolds(config: RouterConfig): void {
  const { heldCallsPerNamespace, heldCalls, heldBytesPerNamespace, heldBytes } = config;
  invariant(config.holdMs >= 100 && config.holdMs <= 600_000, 'holdMs: 100 ms to 10 min');
  invariant(
    heldCallsPerNamespace >= 1 && heldCalls >= heldCallsPerNamespace && heldCalls <= 1_000_000,
    'heldCallsPerNamespace: 1 to heldCalls; heldCalls: at most 1,000,000',
  );
  invariant(
    heldBytesPerNamespace >= 1024 && heldBytes >= heldBytesPerNamespace,
    'heldBytesPerNamespace: 1 KiB to heldBytes',
  );
  invariant(
    config.maxHandoverRefusals >= 1 && config.maxHandoverRefusals <= 100,
    'maxHandoverRefusals: 1 to 100',
  );
}
