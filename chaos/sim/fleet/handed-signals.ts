/**
 * How often a cell was handed a signal, by what it carries, and did not refuse it: as often at most it may be in a history if
 * its client gave it no name. Counted on the way there, so that no cell has a say in it.
 */
import { REFUSED_HEADER } from '../../../fleet/call-headers.ts';
import { toAtollError } from '../../../kernel/errors.ts';
import type { Request, RpcName } from '../../../wire/services.ts';
import { fromPayloads } from '../order-process.ts';

export class HandedSignals {
  readonly times = new Map<string, number>();

  /** A call reaches a cell. Returns what is to be told if it fails. */
  handed<M extends RpcName>(name: M, request: Request<M>): (error: unknown) => void {
    if (name !== 'SignalWorkflowExecution') return () => {};
    const { input } = request as Request<'SignalWorkflowExecution'>;
    const id = String(fromPayloads(input));
    this.#count(id, 1);
    // Refused before anything was done, as routers rely on.
    return (error) => {
      if (toAtollError(error).trailers?.[REFUSED_HEADER] !== undefined) this.#count(id, -1);
    };
  }

  #count(id: string, by: number): void {
    this.times.set(id, (this.times.get(id) ?? 0) + by);
  }
}
