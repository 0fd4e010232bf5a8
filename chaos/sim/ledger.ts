/**
 * The simulated outside of the order process: where money moves, stock is kept and cases are opened. It refuses nothing
 * and records every call.
 */
export type Move = 'capture' | 'refund';

export type LedgerCall = {
  readonly kind: Move | 'reserve' | 'support';
  readonly order: string;
  readonly runId: string;
  readonly activityId: string;
  readonly attempt: number;
};

export class Ledger {
  readonly calls: LedgerCall[] = [];

  record(call: LedgerCall): void {
    this.calls.push(call);
  }

  /** Whether money of this run moved so: what an activity in doubt is settled by. */
  hasMoved(kind: Move, runId: string): boolean {
    return this.calls.some((call) => call.kind === kind && call.runId === runId);
  }
}
