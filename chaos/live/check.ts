/**
 * The judge of a torture run, pure: what was acknowledged, what the ledger saw, and what the engine tells at the end.
 *
 * Place: apart from the example. It reads the same files, but shares no code with the driver or its reconciliation; what
 * an order implies is worked out here once more.
 *
 * What must hold
 *  1. Nothing acknowledged is missing (P1): each acknowledged start is a run of that id, which closed with the state that
 *     the order's facts imply; each acknowledged signal is in that run's history; each acknowledged result is its result.
 *  2. No activity of one attempt was seen twice (P4): run and activity id of a capture or refund are unique in the ledger.
 *  3. One run an order (P3): the ledger knows no other run than the acknowledged one.
 *  4. Each order's money is what its facts imply.
 *  5. A history is whole: event ids from 1 without a gap, opened once, closed once.
 */

/** An order of the input file, as far as the judge reads it. */
export type JudgedOrder = {
  readonly id: string;
  readonly cents: number;
  readonly card: string;
  readonly stockMissing: number | string;
  readonly shipsAfterMs: number | null;
};

/** A line of the client's journal. */
export type ClientLine = {
  readonly what: 'start' | 'signal' | 'result';
  readonly order: string;
  readonly run: string;
  readonly value?: string;
};

/** A line of the ledger's journal. */
export type LedgerLine = {
  readonly kind: string;
  readonly outcome: string;
  readonly order: string;
  readonly cents: number;
  readonly run: string;
  readonly activity: string;
};

/** What the engine tells of a run at the end. */
export type RunRead = {
  readonly order: string;
  readonly run: string;
  /** Event types in order, such as `WORKFLOW_EXECUTION_STARTED`, and their ids. */
  readonly events: readonly { readonly id: number; readonly type: string }[];
  readonly signals: readonly string[];
  /** The state that the run returned; absent if it did not complete. */
  readonly state?: string;
};

export type Evidence = {
  readonly orders: readonly JudgedOrder[];
  readonly client: readonly ClientLine[];
  readonly ledger: readonly LedgerLine[];
  readonly runs: readonly RunRead[];
};

export type Verdict = {
  /** How many of each kind were judged: a kind with none proves nothing. */
  readonly judged: Readonly<Record<'starts' | 'signals' | 'results' | 'moves', number>>;
  readonly findings: readonly string[];
};

const CLOSING =
  /^WORKFLOW_EXECUTION_(COMPLETED|FAILED|TIMED_OUT|TERMINATED|CANCELED|CONTINUED_AS_NEW)$/;

/** Judges the evidence. The run passes if there is no finding. */
export function judge(evidence: Evidence): Verdict {
  const { client, ledger } = evidence;
  const runs = new Map(evidence.runs.map((run) => [`${run.order}/${run.run}`, run]));
  const findings = [
    ...evidence.orders.flatMap((order) => judgeOrder(order, evidence, runs)),
    ...client.flatMap((line) => judgeAcknowledged(line, runs)),
    ...evidence.runs.flatMap(judgeHistory),
    ...judgeAttempts(ledger),
  ];
  const count = (what: ClientLine['what']) => client.filter((line) => line.what === what).length;
  const judged = {
    starts: count('start'),
    signals: count('signal'),
    results: count('result'),
    moves: ledger.filter(isMove).length,
  };
  for (const [kind, number] of Object.entries(judged)) {
    if (number === 0) findings.push(`no ${kind} to judge: the run proves nothing`);
  }
  return { judged, findings };
}

type Runs = ReadonlyMap<string, RunRead>;

function judgeOrder(order: JudgedOrder, { client, ledger }: Evidence, runs: Runs): string[] {
  const findings: string[] = [];
  const start = client.find((line) => line.what === 'start' && line.order === order.id);
  if (!start) return [`${order.id}: its start was never acknowledged`];
  const state = runs.get(`${order.id}/${start.run}`)?.state ?? 'no completion';
  const implied = implies(order);
  if (state !== implied.state) {
    findings.push(`${order.id}: ended with ${state}, its facts imply ${implied.state}`);
  }
  const entries = ledger.filter((line) => line.order === order.id);
  for (const kind of ['capture', 'refund'] as const) {
    const moved = entries.filter((line) => line.kind === kind && line.outcome === 'done');
    const cents = moved.reduce((sum, line) => sum + line.cents, 0);
    if (cents !== implied[kind]) {
      findings.push(`${order.id}: ${kind} of ${cents} cents, its facts imply ${implied[kind]}`);
    }
  }
  for (const stranger of new Set(
    entries.map((line) => line.run).filter((run) => run !== start.run),
  )) {
    findings.push(`${order.id}: run ${stranger} called the ledger, acknowledged was ${start.run}`);
  }
  return findings;
}

function implies({ cents, card, stockMissing, shipsAfterMs }: JudgedOrder) {
  if (card === 'declines') return { state: 'payment-declined', capture: 0, refund: 0 };
  if (stockMissing === 'for-ever') return { state: 'refunded', capture: cents, refund: cents };
  const state = shipsAfterMs === null ? 'support-case' : 'shipped';
  return { state, capture: cents, refund: 0 };
}

function judgeAcknowledged({ what, order, run, value }: ClientLine, runs: Runs): string[] {
  const read = runs.get(`${order}/${run}`);
  if (!read)
    return [`${order}: the engine does not know run ${run}, whose ${what} was acknowledged`];
  if (what === 'signal' && !read.signals.includes(value ?? '')) {
    return [`${order}: the acknowledged signal ${value} is not in the history of run ${run}`];
  }
  if (what === 'result' && read.state !== value) {
    return [`${order}: acknowledged as ${value}, the history of run ${run} says ${read.state}`];
  }
  return [];
}

function judgeHistory({ order, run, events }: RunRead): string[] {
  const findings: string[] = [];
  const gap = events.findIndex((event, index) => event.id !== index + 1);
  if (gap >= 0) findings.push(`${order}: the history of run ${run} has a gap at event ${gap + 1}`);
  const opened = events.filter((event) => event.type === 'WORKFLOW_EXECUTION_STARTED').length;
  if (opened !== 1) findings.push(`${order}: run ${run} was started ${opened} times`);
  const closed = events.filter((event) => CLOSING.test(event.type)).length;
  if (closed !== 1 || !CLOSING.test(events.at(-1)?.type ?? '')) {
    findings.push(`${order}: run ${run} has ${closed} closing events, or one that is not the last`);
  }
  return findings;
}

function judgeAttempts(ledger: readonly LedgerLine[]): string[] {
  const seen = new Set<string>();
  return ledger.filter(isMove).flatMap(({ kind, order, run, activity }) => {
    const key = `${run}/${activity}`;
    const again = seen.has(key);
    seen.add(key);
    return again ? [`${order}: ${kind} by activity ${activity} of run ${run} was seen twice`] : [];
  });
}

function isMove({ kind }: LedgerLine): boolean {
  return kind === 'capture' || kind === 'refund';
}
