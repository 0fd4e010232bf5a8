/**
 * Every figure that the bench tells: what it is, what it should be, and what the peer needs.
 *
 * The peer is Temporal's server 1.32 with PostgreSQL 15.18 on a machine of two cores like the one that the aims are for
 * (docs/benchmarks.md); its server is one process, ours are router and cell together.
 */

/** What a value is held to. */
export type Aim = { readonly atMost: number } | { readonly atLeast: number };

export type Figure = {
  readonly label: string;
  readonly unit: string;
  readonly aim?: Aim;
  readonly peer?: string;
};

const wf = 'a workflow';

export const FIGURES = {
  'one-activity.rate': {
    label: 'one activity, 64 clients: workflows',
    unit: '/s',
    aim: { atLeast: 96 },
    peer: '32',
  },
  'one-activity.cpu': {
    label: `  CPU of engine and PostgreSQL ${wf}`,
    unit: 'ms',
    aim: { atMost: 8 },
    peer: '46-56',
  },
  'one-activity.cpu-router': { label: '  of it router', unit: 'ms' },
  'one-activity.cpu-cell': { label: '  of it cell', unit: 'ms', peer: '31-38' },
  'one-activity.cpu-postgres': { label: '  of it PostgreSQL', unit: 'ms', peer: '15-18' },
  'one-activity.cpu-worker': { label: '  beside it: thin worker', unit: 'ms' },
  'one-activity.cpu-load': { label: '  beside it: load generator', unit: 'ms' },
  'one-activity.reads': { label: `  statements that read, ${wf}`, unit: '' },
  'one-activity.writes': { label: `  statements that write, ${wf}`, unit: '', peer: '81, all' },
  'one-activity.transactions': {
    label: `  writing transactions ${wf}`,
    unit: '',
    peer: '16.6',
  },
  'one-activity.wal': { label: `  WAL ${wf}`, unit: 'KB', aim: { atMost: 15 }, peer: '100' },
  'one-activity.full-pages': { label: `  full-page images in it ${wf}`, unit: '' },
  'one-activity-eager.rate': {
    label: 'the same with eager activities: workflows',
    unit: '/s',
    peer: '40',
  },
  'one-activity-eager.cpu': { label: `  CPU of engine and PostgreSQL ${wf}`, unit: 'ms' },
  'one-activity-eager.share': { label: '  activities dispatched eagerly', unit: '%' },
  'rate.start-p50': { label: '15 starts/s: start p50', unit: 'ms', peer: '8.3' },
  'rate.start-p99': { label: '  start p99', unit: 'ms', aim: { atMost: 12 }, peer: '24' },
  'rate.dispatch-p50': { label: '  dispatch p50', unit: 'ms', peer: '14' },
  'rate.dispatch-p99': { label: '  dispatch p99', unit: 'ms', peer: '36' },
  'rate.end-p50': { label: '  end to end p50', unit: 'ms', peer: '58' },
  'rate.end-p99': { label: '  end to end p99', unit: 'ms', peer: '142' },
  'rate.cpu': { label: `  CPU of engine and PostgreSQL ${wf}`, unit: 'ms', peer: '64-74' },
  'seq10.end-p50': {
    label: 'ten activities in a row, one client: p50',
    unit: 'ms',
    aim: { atMost: 100 },
    peer: '334',
  },
  'seq10.end-p99': { label: '  p99', unit: 'ms' },
  'signals.rate': { label: 'signals to one run', unit: '/s', peer: '216' },
  'signals.p99': { label: '  p99', unit: 'ms' },
  'timers.rate': { label: '500 timers due at once: delivered', unit: '/s', peer: '82' },
  'timers.lag-p50': { label: '  lag p50', unit: 'ms' },
  'timers.lag-p99': { label: '  lag p99', unit: 'ms' },
  'memory.per-run': { label: 'memory per open run', unit: 'KB', peer: '48' },
  'memory.resident': { label: '  router and cell with all of them open', unit: 'MB' },
  'memory.opened': { label: '  opened', unit: '/s' },
  'recovery.first-task': { label: 'kill -9 of the cell to the first task', unit: 's', peer: '1.8' },
  'recovery.lost': { label: '  acknowledged workflows lost', unit: '', aim: { atMost: 0 } },
  'idle.engine': {
    label: 'idle: router and cell',
    unit: 'cores',
    aim: { atMost: 0.02 },
    peer: '0.15',
  },
  'idle.postgres': { label: '  PostgreSQL', unit: 'cores' },
  'replication.rate': { label: 'one activity, 4 clients, replicated: workflows', unit: '/s' },
  'replication.rate-without': { label: '  without a replica', unit: '/s' },
  'replication.added': {
    label: `  CPU that it adds to the active cell and its PostgreSQL ${wf}`,
    unit: '%',
    aim: { atMost: 15 },
  },
  'replication.cpu-without': { label: '  that CPU without a replica', unit: 'ms' },
  'replication.cpu-cell': { label: '  added to the cell', unit: 'ms' },
  'replication.cpu-postgres': { label: '  added to its PostgreSQL', unit: 'ms' },
  'replication.cpu-replica': { label: '  CPU of the replica and its PostgreSQL', unit: 'ms' },
  'router.cpu': {
    label: 'router: CPU a call, 32 in flight',
    unit: 'µs',
    aim: { atMost: 150 },
  },
  'router.added-p99': {
    label: '  added p99 at 1,000 calls/s',
    unit: 'ms',
    aim: { atMost: 1 },
  },
  'router.added-p50': { label: '  added p50 at 1,000 calls/s', unit: 'ms' },
  'router.rate': { label: '  calls through it, 32 in flight', unit: '/s' },
  'router.direct-rate': { label: '  calls direct to the cell, 32 in flight', unit: '/s' },
} as const satisfies Readonly<Record<string, Figure>>;

export type FigureName = keyof typeof FIGURES;
export type Figures = Readonly<Partial<Record<FigureName, number>>>;

/** The figure of that name. */
export function figureOf(name: FigureName): Figure {
  return FIGURES[name];
}

/** Such as `<= 8`. */
export function aimText(aim: Aim | undefined): string {
  if (aim === undefined) return '';
  return 'atMost' in aim ? `<= ${aim.atMost}` : `>= ${aim.atLeast}`;
}

export function meets(aim: Aim, value: number): boolean {
  return 'atMost' in aim ? value <= aim.atMost : value >= aim.atLeast;
}
