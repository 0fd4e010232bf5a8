/**
 * The network between clients or workers and hosts: calls arrive late, twice, in another order, or not at all, and so do
 * their answers.
 *
 * Invariants
 *  1. A caller hears once: an answer, a refusal, or nothing until its own deadline (`lost`).
 *  2. What is lost or late for the caller may have happened all the same.
 */
import type { Frontend } from '../../cell/frontend/frontend.ts';
import { AtollError, toAtollError } from '../../kernel/errors.ts';
import {
  methodOf,
  workflowPath,
  type Request,
  type Response,
  type RpcName,
} from '../../wire/services.ts';
import type { CallFate, Faults } from './faults.ts';
import type { HostGate } from './host-gate.ts';
import type { WorldTime } from './world-time.ts';

/** A host as callers see it. */
export type Callee = {
  readonly name: string;
  readonly gate: HostGate;
  readonly frontend: Pick<Frontend, 'call'>;
};

export type Outcome<M extends RpcName> =
  | { readonly kind: 'answered'; readonly response: Response<M> }
  | { readonly kind: 'refused'; readonly error: AtollError }
  | { readonly kind: 'lost' };

export class Network {
  readonly #time: WorldTime;
  readonly #faults: Faults;

  constructor(time: WorldTime, faults: Faults) {
    this.#time = time;
    this.#faults = faults;
  }

  call<M extends RpcName>(
    callee: Callee,
    rpc: { readonly name: M; readonly request: Request<M> },
    deadlineMs: number,
  ): Promise<Outcome<M>> {
    const fate = this.#faults.callFate();
    return new Promise((resolve) => {
      const gone = new AbortController();
      const hear = (outcome: Outcome<M>) => {
        giveUp();
        stopWatching();
        resolve(outcome);
      };
      const giveUp = this.#time.after(deadlineMs, () => {
        // The host learns that its client is gone.
        callee.gate.enter(() => gone.abort(new AtollError('cancelled', 'the client is gone')));
        hear({ kind: 'lost' });
      });
      const stopWatching = callee.gate.onDeath(
        () => void this.#time.after(fate.replyMs, () => hear({ kind: 'lost' })),
      );
      const arrive = (answer: (outcome: Outcome<M>) => void) =>
        this.#arrive(callee, rpc, { signal: gone.signal, deadlineMs, answer });
      const answerLate = (outcome: Outcome<M>) => {
        if (!fate.replyLost) this.#time.after(fate.replyMs, () => hear(outcome));
      };
      this.#send(
        fate,
        () => arrive(answerLate),
        () => arrive(() => {}),
      );
    });
  }

  #send(fate: CallFate, first: () => void, again: () => void): void {
    if (!fate.requestLost) this.#time.after(fate.requestMs, first);
    if (fate.doubledMs !== undefined) this.#time.after(fate.requestMs + fate.doubledMs, again);
  }

  #arrive<M extends RpcName>(
    callee: Callee,
    rpc: { readonly name: M; readonly request: Request<M> },
    call: {
      readonly signal: AbortSignal;
      readonly deadlineMs: number;
      readonly answer: (outcome: Outcome<M>) => void;
    },
  ): void {
    const { signal, deadlineMs, answer } = call;
    callee.gate.enter(() => {
      callee.frontend.call(rpc.name, rpc.request, { signal, deadlineMs, headers: {} }).then(
        (response) => answer({ kind: 'answered', response: plain(rpc.name, response) }),
        (error: unknown) => answer({ kind: 'refused', error: toAtollError(error) }),
      );
    });
  }
}

/** Answers that are made of chunks, as their receiver decodes them. */
function plain<M extends RpcName>(name: M, answer: unknown): Response<M> {
  if (!Array.isArray(answer)) return answer as Response<M>;
  const bytes = Buffer.concat(answer as Uint8Array[]);
  return methodOf(workflowPath(name as never)).response.decode(bytes) as Response<M>;
}
