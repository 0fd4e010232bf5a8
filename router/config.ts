/** The router's configuration: every value with its unit, default and range (flags and environment are named alike). */
import { invariant } from '../kernel/invariant.ts';
import { DEFAULT_MAX_MESSAGE_BYTES } from '../kernel/rpc/frame.ts';

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
  /** The largest request, kept until its answer is here so that it can be sent again to the owner. 1 KiB … 32 MiB. */
  readonly maxRequestBytes: number;
  /** Bytes of requests and answers that the router holds at a time, all calls together. `maxRequestBytes` … 16 GiB. */
  readonly bytesOfCalls: number;
  /** Bytes of a request that the router answers itself. 1 KiB … 4 MiB. */
  readonly maxLocalBytes: number;
  /** Connections to each cell: a large answer on one holds up nobody on the others. 1 … 64. */
  readonly linksPerCell: number;
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
  maxRequestBytes: DEFAULT_MAX_MESSAGE_BYTES,
  bytesOfCalls: 512 * 1024 * 1024,
  maxLocalBytes: 1024 * 1024,
  linksPerCell: 4,
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
    config.maxRequestBytes >= 1024 && config.maxRequestBytes <= 32 * 1024 * 1024,
    'maxRequestBytes: 1 KiB to 32 MiB',
  );
  invariant(
    config.bytesOfCalls >= config.maxRequestBytes && config.bytesOfCalls <= 16 * 1024 ** 3,
    'bytesOfCalls: maxRequestBytes to 16 GiB',
  );
  invariant(config.linksPerCell >= 1 && config.linksPerCell <= 64, 'linksPerCell: 1 to 64');
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
