/** Flags and environment variables of each role (kernel/config.ts): `--shards` is `ATOLL_SHARDS`. */
import type { Options } from '../kernel/config.ts';

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
    meaning: 'postgres://user:password@host:port/database, a database of its own for each cell.',
  },
  fleet,
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
  ...opsOptions,
  ...logOptions,
} as const satisfies Options;
