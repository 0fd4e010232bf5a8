/** Flags and environment variables of each role (kernel/config.ts): `--shards` is `ATOLL_SHARDS`. */
import type { Options, Relation } from '../kernel/config.ts';

export const logOptions = {
  logLevel: {
    kind: 'text',
    default: 'info',
    oneOf: ['debug', 'info', 'warn', 'error'],
    meaning: 'The least important lines that are shown.',
  },
  logFormat: {
    kind: 'text',
    default: 'auto',
    oneOf: ['auto', 'json', 'pretty'],
    meaning: 'auto is pretty on a terminal and JSON elsewhere.',
  },
} as const satisfies Options;

const listenHost = {
  kind: 'text',
  default: '127.0.0.1',
  meaning: 'The address to listen on.',
} as const;

const opsOptions = {
  metricsPort: {
    kind: 'number',
    default: 0,
    min: 0,
    max: 65_535,
    meaning: 'The port of /metrics, /health and /ready; 0 is off.',
  },
  metricsHost: {
    kind: 'text',
    default: '127.0.0.1',
    meaning: 'The address that the metrics port listens on.',
  },
} as const satisfies Options;

const fleet = {
  kind: 'text',
  default: '.atoll/fleet',
  meaning:
    'Folder of the fleet map and token keys, shared by all routers and cells of one machine.',
} as const;

const tlsOptions = {
  tlsCert: {
    kind: 'text',
    default: '',
    meaning: 'The certificate of this port (PEM file); without one it is cleartext.',
  },
  tlsKey: { kind: 'text', default: '', meaning: 'The private key of that certificate (PEM file).' },
  tlsClientCa: {
    kind: 'text',
    default: '',
    meaning: 'Callers must show a certificate that this authority signed (PEM file): mTLS.',
  },
} as const satisfies Options;

const accessOptions = {
  rights: {
    kind: 'text',
    default: '',
    meaning: 'Who may do what in which namespace (JSON file, docs/security.md).',
  },
  allowAll: {
    kind: 'switch',
    default: false,
    meaning: 'Let everybody do everything, also from other machines.',
  },
} as const satisfies Options;

/** Of connections to cells: a router's, an admin's, and those of a cell to others. */
const cellTlsOptions = {
  cellTlsCa: {
    kind: 'text',
    default: '',
    meaning: 'Cells must show a certificate that this authority signed; without it, cleartext.',
  },
  cellTlsCert: {
    kind: 'text',
    default: '',
    meaning: 'The certificate that is shown to cells (PEM file).',
  },
  cellTlsKey: { kind: 'text', default: '', meaning: 'The private key of that certificate.' },
} as const satisfies Options;

const limit = { kind: 'number', min: 1, max: 10_000_000 } as const;
const held = { kind: 'number', min: 1, max: 1_000_000 } as const;
const heldBytes = { kind: 'number', min: 1_024, max: 64 * 1024 ** 3 } as const;

export const devOptions = {
  host: listenHost,
  port: {
    kind: 'number',
    default: 7233,
    min: 0,
    max: 65_535,
    meaning: 'The port of the router; 0 takes a free one.',
  },
  data: { kind: 'text', default: '.atoll', meaning: 'The data folder, made if it is missing.' },
  adminPort: {
    kind: 'number',
    default: 7234,
    min: 0,
    max: 65_535,
    meaning: 'The port of atoll move, atoll failover and the like; where it is in use, a free one.',
  },
  inMemory: {
    kind: 'switch',
    default: false,
    meaning: 'A throwaway server: nothing is kept, it starts in under a second.',
  },
  namespace: {
    kind: 'text',
    default: 'default',
    meaning: 'Namespaces to register at the start, separated by commas.',
  },
  ...opsOptions,
  ...logOptions,
} as const satisfies Options;

export const cellOptions = {
  cellId: { kind: 'text', meaning: 'The name of the cell in the fleet map, such as eu-1.' },
  region: { kind: 'text', default: 'local', meaning: 'The region that the cell lies in.' },
  host: listenHost,
  port: {
    kind: 'number',
    default: 0,
    min: 0,
    max: 65_535,
    meaning: 'The port of the cell; routers find it in the fleet map. 0 takes a free one.',
  },
  advertise: {
    kind: 'text',
    default: '',
    meaning:
      'HOST or HOST:PORT by which routers and other cells reach this one, if not what it listens on.',
  },
  shards: {
    kind: 'number',
    default: 64,
    min: 1,
    max: 65_536,
    meaning: 'How many shards the cell has, for its whole life.',
  },
  postgresUrl: {
    kind: 'text',
    secret: true,
    meaning:
      'postgres:// or yugabytedb://user:password@host:port/database, a database of its own for each cell.',
  },
  newDatabase: {
    kind: 'switch',
    default: false,
    meaning:
      'Begin anew on another database, since the one of the cell is gone for good (docs/runbooks/replicas.md).',
  },
  laneItemsPerSecond: {
    kind: 'number',
    default: 10_000,
    min: 1,
    max: 1_000_000,
    meaning: 'Steps a second that one namespace sends to one replica; beyond, it lags.',
  },
  fleet,
  ...tlsOptions,
  ...cellTlsOptions,
  ...accessOptions,
  ...opsOptions,
  ...logOptions,
} as const satisfies Options;

export const routerOptions = {
  host: listenHost,
  port: {
    kind: 'number',
    default: 7233,
    min: 0,
    max: 65_535,
    meaning: 'The port that SDKs and tools call.',
  },
  fleet,
  region: {
    kind: 'text',
    default: '',
    meaning: 'The region whose cells get new namespaces that name none; empty is any.',
  },
  namespaceCallsPerSecond: {
    ...limit,
    default: 50_000,
    meaning: 'Calls a second that one namespace may make.',
  },
  namespaceStartsPerSecond: {
    ...limit,
    default: 5_000,
    meaning: 'Starts of workflows a second among them.',
  },
  holdMs: {
    kind: 'number',
    default: 10_000,
    min: 100,
    max: 600_000,
    meaning: 'How long a call without a deadline is held while its namespace moves.',
  },
  heldCallsPerNamespace: {
    ...held,
    default: 10_000,
    meaning: 'Calls of one namespace that are held at a time; beyond, they are refused.',
  },
  heldCalls: {
    ...held,
    default: 50_000,
    meaning: 'Calls of all namespaces that are held at a time.',
  },
  heldBytesPerNamespace: {
    ...heldBytes,
    default: 64 * 1024 * 1024,
    meaning: 'Bytes of the held requests of one namespace.',
  },
  heldBytes: {
    ...heldBytes,
    default: 256 * 1024 * 1024,
    meaning: 'Bytes of the held requests of all namespaces.',
  },
  ...tlsOptions,
  ...cellTlsOptions,
  ...accessOptions,
  ...opsOptions,
  ...logOptions,
} as const satisfies Options;

export const routerRelations: readonly Relation<typeof routerOptions>[] = [
  {
    holds: ({ heldCallsPerNamespace, heldCalls }) => heldCallsPerNamespace <= heldCalls,
    sentence: '--held-calls-per-namespace must be at most --held-calls',
  },
  {
    holds: ({ heldBytesPerNamespace, heldBytes: all }) => heldBytesPerNamespace <= all,
    sentence: '--held-bytes-per-namespace must be at most --held-bytes',
  },
];

export const adminOptions = {
  host: listenHost,
  port: {
    kind: 'number',
    default: 7234,
    min: 0,
    max: 65_535,
    meaning: 'The port that atoll move, atoll failover and the like call; 0 takes a free one.',
  },
  fleet,
  ...cellTlsOptions,
  ...tlsOptions,
  ...accessOptions,
  ...logOptions,
} as const satisfies Options;

export const doctorOptions = {
  host: listenHost,
  port: {
    kind: 'number',
    default: 7233,
    min: 0,
    max: 65_535,
    meaning: 'The port that a router would listen on.',
  },
  fleet,
  postgresUrl: {
    kind: 'text',
    default: '',
    secret: true,
    meaning: 'The database of a cell, to be looked at.',
  },
  ...tlsOptions,
  ...cellTlsOptions,
  ...accessOptions,
} as const satisfies Options;
