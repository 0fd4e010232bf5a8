/**
 * What the flags of `atoll server start-dev` mean for a dev server of ours. Pure: flags in, options out.
 *
 * Invariants
 *  1. Every flag of the tool that scripts and test kits start is accepted, so that none of them fails on one.
 *  2. A flag whose effect a user would miss is named in `withoutEffect`, for one line of warning each.
 */
import { AtollError } from '../kernel/errors.ts';
import { IndexedValueType } from '../wire/enums.ts';
import type { DevOptions } from './dev.ts';
import type { LogOptions } from './run-role.ts';

/** As the flag parser hands them over. */
export type RawFlags = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

export type StartDev = {
  readonly dev: DevOptions;
  readonly log: LogOptions;
  /** Flags that were given and do nothing here. */
  readonly withoutEffect: readonly string[];
};

export const STARTED_WITH: Readonly<Record<string, string>> = {
  '-p, --port <port>': 'the port of the gRPC API; 0 takes a free one (default 7233)',
  '--ip <address>': 'the address to listen on (default 127.0.0.1)',
  '-f, --db-filename <path>':
    'a folder to keep data in, on an embedded PostgreSQL; without it everything is in memory',
  '--log-level <level>': 'debug, info, warn, error or never (default info)',
  '--log-format <format>': 'text, pretty or json (default: pretty on a terminal)',
  '--headless': 'accepted: there is no UI to leave out',
  '--metrics-port <port>': 'the port of /metrics, /health and /ready; 0 or none: off',
};

export const REPEATABLE_FLAGS: Readonly<Record<string, string>> = {
  '-n, --namespace <name>': 'a namespace to register; repeat it or separate names by commas',
  '--search-attribute <name=type>':
    'a custom search attribute of those namespaces, such as Region=Keyword; repeatable',
  '--dynamic-config-value <key=value>': 'accepted, without effect',
  '--sqlite-pragma <name=value>': 'accepted, without effect',
};

/** The rest of what the tool takes. */
export const ACCEPTED_FLAGS: readonly string[] = [
  ...['--ui-port <port>', '--http-port <port>', '--ui-ip <address>', '--ui-asset-path <path>'],
  ...['--ui-codec-endpoint <url>', '--ui-public-path <path>', '--config-file <path>'],
  ...['--env <name>', '--env-file <path>', '--profile <name>', '--color <when>'],
  ...['-o, --output <format>', '--time-format <format>', '--command-timeout <duration>'],
  ...['--client-connect-timeout <duration>', '--log-config', '--disable-config-file'],
  ...['--disable-config-env', '--no-json-shorthand-payloads'],
];

/** Something would be listening there. */
const MISSED = ['uiPort', 'httpPort'] as const;
const LEVELS = ['debug', 'info', 'warn', 'error', 'never'] as const;
const FORMATS = { text: 'pretty', pretty: 'pretty', json: 'json', auto: 'auto' } as const;

/** @throws AtollError `invalid-argument` naming the flag */
export function readStartDevFlags(flags: RawFlags): StartDev {
  const { ip, dbFilename } = flags;
  const namespaces = list(flags['namespace']).flatMap((names) => names.split(','));
  const dev = {
    host: typeof ip === 'string' ? ip : '127.0.0.1',
    port: portOf('--port', flags['port'], 7233),
    data: typeof dbFilename === 'string' && dbFilename !== '' ? dbFilename : undefined,
    namespaces: withDefault(namespaces.map((name) => name.trim()).filter((name) => name !== '')),
    searchAttributes: attributesOf(list(flags['searchAttribute'])),
    ops: {
      metricsHost: '127.0.0.1',
      metricsPort: portOf('--metrics-port', flags['metricsPort'], 0),
    },
  };
  const withoutEffect = MISSED.filter((field) => flags[field] !== undefined);
  const log = { level: levelOf(flags['logLevel']), format: formatOf(flags['logFormat']) };
  const named = { uiPort: '--ui-port', httpPort: '--http-port' };
  return { dev, log, withoutEffect: withoutEffect.map((field) => named[field]) };
}

/** `default` is there in any case, as clients expect of a dev server. */
function withDefault(names: readonly string[]): string[] {
  return [...new Set(['default', ...names])];
}

function attributesOf(pairs: readonly string[]): Record<string, number> {
  const types = new Map(
    Object.entries(IndexedValueType)
      .filter(([, number]) => number !== IndexedValueType.Unspecified)
      .map(([name, number]) => [name.toLowerCase(), number]),
  );
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, name = '', word = ''] = /^(.+?)=(.+)$/.exec(pair) ?? [];
      const type = types.get(word.toLowerCase());
      if (name !== '' && type !== undefined) return [name, type];
      throw wrong(
        '--search-attribute',
        `must be Name=Type with one of ${Object.keys(IndexedValueType).slice(1).join(', ')}, not ${JSON.stringify(pair)}`,
      );
    }),
  );
}

function portOf(flag: string, value: RawFlags[string], otherwise: number): number {
  if (value === undefined) return otherwise;
  const port = typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN;
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw wrong(flag, `must be a number from 0 to 65535, not ${JSON.stringify(value)}`);
}

function levelOf(value: RawFlags[string]): LogOptions['level'] {
  const level = LEVELS.find((one) => one === (value ?? 'info'));
  if (level !== undefined) return level;
  throw wrong('--log-level', `must be one of ${LEVELS.join(', ')}, not ${JSON.stringify(value)}`);
}

function formatOf(value: RawFlags[string]): LogOptions['format'] {
  const name = typeof value === 'string' ? value : 'auto';
  if (Object.hasOwn(FORMATS, name)) return FORMATS[name as keyof typeof FORMATS];
  throw wrong('--log-format', `must be one of text, pretty, json, not ${JSON.stringify(value)}`);
}

function list(value: RawFlags[string]): readonly string[] {
  return Array.isArray(value) ? (value as readonly string[]) : [];
}

function wrong(flag: string, complaint: string): AtollError {
  return new AtollError('invalid-argument', `${flag} ${complaint}`);
}
