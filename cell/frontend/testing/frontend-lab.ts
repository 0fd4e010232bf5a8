/** A frontend on a virtual clock with a fake engine, real matching, visibility in memory, and one namespace. */
import type { Namespace } from '../../../fleet/map.ts';
import { AtollError } from '../../../kernel/errors.ts';
import type { Log } from '../../../kernel/log.ts';
import { silentLog } from '../../../kernel/log.ts';
import { SeededRng } from '../../../kernel/testing/seeded-rng.ts';
import { VirtualClock, VIRTUAL_EPOCH_MS } from '../../../kernel/testing/virtual-clock.ts';
import { methodOf, workflowPath, type Request, type RpcName } from '../../../wire/services.ts';
import { TokenKeyRing } from '../../../wire/signed-token.ts';
import type { ActivityStartedReply } from '../../history/decision.ts';
import type { RunState } from '../../history/state.ts';
import { InMemoryMatching } from '../../matching/in-memory-matching.ts';
import { MemoryVisibility } from '../../visibility/memory/memory-visibility.ts';
import { allowAll } from '../authorise.ts';
import type { FrontendParts } from '../call.ts';
import type { FrontendCall } from '../frontend-call.ts';
import { defaultFrontendConfig } from '../config.ts';
import { FleetAdmission } from '../fleet-admission.ts';
import { Frontend } from '../frontend.ts';
import { FakeEngine } from './fake-engine.ts';

export const NS = '10000000-0000-4000-8000-000000000001';
export const RUN = '20000000-0000-4000-8000-000000000001';
const OTHER_NS = '10000000-0000-4000-8000-000000000002';
const AWAY_NS = '10000000-0000-4000-8000-000000000003';

/** `shop` and `other` are active in cell `here`, `away` in cell `there`. */
const NAMESPACES: readonly Namespace[] = [
  namespace('shop', NS, 'here'),
  namespace('other', OTHER_NS, 'here'),
  namespace('away', AWAY_NS, 'there'),
];

function namespace(name: string, id: string, active: string): Namespace {
  return {
    id,
    name,
    description: '',
    ownerEmail: '',
    data: {},
    retentionMs: 86_400_000,
    registeredAt: VIRTUAL_EPOCH_MS,
    state: 'registered',
    customSearchAttributes: {},
    placement: { active, replicas: [active], epoch: 7, state: { kind: 'active' } },
  };
}

export type CallOptions = {
  readonly signal?: AbortSignal;
  readonly deadlineMs?: number;
  readonly headers?: FrontendCall['headers'];
};

export class FrontendLab {
  readonly clock = new VirtualClock();
  readonly engine = new FakeEngine();
  readonly matching = new InMemoryMatching<ActivityStartedReply>({ clock: this.clock });
  readonly visibility = new MemoryVisibility();
  readonly tokens = new TokenKeyRing({
    keys: [{ id: 1, secret: new Uint8Array(32).fill(7) }],
    current: 1,
  });
  /** Messages at warning level. */
  readonly warnings: string[] = [];
  readonly parts: FrontendParts;
  readonly frontend: Frontend;

  constructor(change: Partial<FrontendParts> = {}) {
    const map = {
      namespaceByName: (name: string) => NAMESPACES.find((one) => one.name === name),
      namespaceById: (id: string) => NAMESPACES.find((one) => one.id === id),
      refresh: () => Promise.resolve(),
    };
    const warn = (_fields: object, message: string) => void this.warnings.push(message);
    const log: Log = { ...silentLog, warn, child: () => log };
    this.parts = {
      engine: this.engine,
      matching: this.matching,
      visibility: this.visibility,
      admission: new FleetAdmission(map, 'here'),
      authoriser: allowAll,
      tokens: this.tokens,
      clock: this.clock,
      rng: new SeededRng(1),
      log,
      config: defaultFrontendConfig,
      ...change,
    };
    this.frontend = new Frontend(this.parts);
  }

  /** Calls as a client would, in namespace `shop` unless the request says another; chunks come back decoded. */
  async call<M extends RpcName>(
    name: M,
    request: Request<M>,
    options: CallOptions = {},
  ): Promise<Readonly<Record<string, unknown>>> {
    const { signal = new AbortController().signal, headers = {}, deadlineMs } = options;
    const inShop = { namespace: 'shop', ...(request as object) } as Request<M>;
    const answer: unknown = await this.frontend.call(name, inShop, { signal, headers, deadlineMs });
    if (!Array.isArray(answer)) return answer as Readonly<Record<string, unknown>>;
    const { response } = methodOf(workflowPath(name as never));
    return response.decode(Buffer.concat(answer as Uint8Array[])) as Readonly<
      Record<string, unknown>
    >;
  }

  /** The error of a call that must fail. */
  async fail<M extends RpcName>(
    name: M,
    request: Request<M>,
    options: CallOptions = {},
  ): Promise<AtollError> {
    const outcome: unknown = await this.call(name, request, options).catch(
      (error: unknown) => error,
    );
    if (outcome instanceof AtollError) return outcome;
    throw new Error(`${name} did not fail as it must: ${JSON.stringify(outcome)}`);
  }
}

/** A running run of `nextEventId - 1` events, with what a test changes of it. */
export function runState(change: Partial<RunState> = {}): RunState {
  const at = VIRTUAL_EPOCH_MS;
  return {
    namespaceId: NS,
    workflowId: 'w',
    runId: RUN,
    transition: 4,
    epoch: 7,
    lineage: [],
    nextEventId: 6,
    historyBytes: 500,
    lastAt: at,
    status: 1,
    start: {
      workflowType: 'order',
      taskQueue: 'orders',
      requestId: 'r',
      firstRunId: RUN,
      continuedRunId: '',
      attempt: 1,
      startedAt: at,
      executionAt: at,
      executionTimeoutMs: 0,
      runTimeoutMs: 60_000,
      taskTimeoutMs: 10_000,
      executionExpiresAt: 0,
    },
    lastCompletedStartedEventId: 3,
    activities: new Map(),
    timers: new Map(),
    buffered: [],
    cancelRequested: false,
    signalCount: 0,
    ...change,
  };
}
