/**
 * The cell's RPC handler, measured: time per RPC, and errors by code. Long polls wait by design and are counted alone.
 * Place: between kernel/rpc's server and rpc-handler.ts, put there by bin/.
 */
import type { Clock } from '../../kernel/clock.ts';
import { toAtollError } from '../../kernel/errors.ts';
import type { Counter, Histogram, Metrics } from '../../kernel/metrics.ts';
import type { RpcHandler } from '../../kernel/rpc/server-call.ts';
import { METHODS } from '../../wire/services.ts';

const WAITS = /^(Poll|GetWorkflowExecutionHistory$)/;

export function measuredHandler(handle: RpcHandler, metrics: Metrics, clock: Clock): RpcHandler {
  const bound = new Map<string, { readonly calls: Counter; readonly tookMs: Histogram }>();
  const of = (rpc: string) => {
    const known = bound.get(rpc);
    if (known !== undefined) return known;
    const made = {
      calls: metrics.counter('rpc_calls_total', { rpc }),
      tookMs: metrics.histogram('rpc_ms', { rpc }),
    };
    bound.set(rpc, made);
    return made;
  };
  return async (call) => {
    // Paths of the contract alone become labels: a caller's own words would never end.
    const rpc = METHODS.get(call.path)?.name ?? 'other';
    const { calls, tookMs } = of(rpc);
    calls.inc();
    const begun = clock.monotonicMs();
    try {
      return await handle(call);
    } catch (thrown) {
      metrics.counter('rpc_errors_total', { rpc, code: toAtollError(thrown).code }).inc();
      throw thrown;
    } finally {
      if (!WAITS.test(rpc)) tookMs.observe(clock.monotonicMs() - begun);
    }
  };
}
