/** A cell's control, over gRPC: what orchestrators and the command line hold (control.ts). */
import {
  ESTIMATE_LOSS,
  GATE,
  LANE,
  LOSS_REPORT,
  OBSERVE,
  VERIFY,
  type ReplicationMethod,
} from '../../wire/atoll/replication.ts';
import type {
  CellControl,
  GateAsk,
  LaneStatus,
  LossEstimate,
  ShardBarrier,
  VerifyAsk,
  VerifyReport,
} from './control.ts';
import type { LossReport } from '../losses/loss-report.ts';
import type { CellCalls } from '../rpc/cell-calls.ts';
import { estimateFromWire, laneFromWire, lossFromWire, verifyFromWire } from '../rpc/wire-forms.ts';

/** The longest that each may take; the caller's signal ends it earlier. */
const QUICK_MS = 10_000;
const GATE_MS = 30_000;
/** Every execution of a namespace is looked at. */
const VERIFY_MS = 3_600_000;

type OfNamespace = { readonly namespaceId: string };

export class CellControlClient implements CellControl {
  readonly #cellId: string;
  readonly #calls: Pick<CellCalls, 'call'>;

  constructor(cellId: string, calls: Pick<CellCalls, 'call'>) {
    this.#cellId = cellId;
    this.#calls = calls;
  }

  async gate(ask: GateAsk, signal: AbortSignal): Promise<readonly ShardBarrier[]> {
    return (await this.#call(GATE, { request: ask, signal, timeoutMs: GATE_MS })).barriers;
  }

  async lane(
    ask: OfNamespace & { readonly target: string },
    signal: AbortSignal,
  ): Promise<LaneStatus> {
    return laneFromWire(await this.#call(LANE, { request: ask, signal, timeoutMs: QUICK_MS }));
  }

  async observe(
    ask: OfNamespace & { readonly revision: number },
    signal: AbortSignal,
  ): Promise<void> {
    await this.#call(OBSERVE, { request: ask, signal, timeoutMs: GATE_MS });
  }

  async verify(ask: VerifyAsk, signal: AbortSignal): Promise<VerifyReport> {
    return verifyFromWire(await this.#call(VERIFY, { request: ask, signal, timeoutMs: VERIFY_MS }));
  }

  async estimateLoss(ask: OfNamespace, signal: AbortSignal): Promise<readonly LossEstimate[]> {
    const request = { request: ask, signal, timeoutMs: QUICK_MS };
    return (await this.#call(ESTIMATE_LOSS, request)).estimates.map(estimateFromWire);
  }

  async lossReport(ask: OfNamespace, signal: AbortSignal): Promise<LossReport> {
    return lossFromWire(
      await this.#call(LOSS_REPORT, { request: ask, signal, timeoutMs: GATE_MS }),
    );
  }

  #call<Request, Response>(
    method: ReplicationMethod<Request, Response>,
    call: { readonly request: Request; readonly signal: AbortSignal; readonly timeoutMs: number },
  ): Promise<Response> {
    return this.#calls.call(this.#cellId, method, call);
  }
}
