/**
 * Signals: an event, or a buffered one while a worker has the workflow task in hand.
 *
 * Invariants
 *  1. A request id that the ledger knows changes nothing, also after close (D15).
 *  2. A signal never wakes a first task that waits for its back-off (BEHAVIOURS 11).
 */
import { AtollError } from '../../kernel/errors.ts';
import type { DecideContext, Decision, LiveRun } from './decision.ts';
import { isOpen, type Draft } from './draft.ts';
import type { RunInput, SignalFields } from './input.ts';
import { DONE, refuseClosed } from './refusals.ts';
import { openDraft } from './workflow-task/carry.ts';
import { wakeWorker } from './workflow-task/wake.ts';

/** Decides `signal`. */
export function signalRun(
  run: LiveRun,
  input: Extract<RunInput, { kind: 'signal' }>,
  ctx: DecideContext,
): Decision {
  if (isKnownSignal(input, ctx)) return DONE;
  if (!isOpen(run.state)) return refuseClosed(run.state);
  const full = signalRefusal(run, ctx);
  if (full) return { kind: 'refuse', error: full };
  const draft = openDraft(run, ctx);
  writeSignal(draft, input);
  wakeWorker(draft);
  return { kind: 'commit', steps: [draft.finish()], reply: { kind: 'done' } };
}

/** Whether the signal was taken before, by any run of the workflow id. */
export function isKnownSignal(signal: SignalFields, ctx: DecideContext): boolean {
  if (signal.requestId === '') return false;
  return ctx.ledger.find(signal.requestId)?.kind === 'signal';
}

/**
 * Adds the signal to a draft, and its request id to the ledger.
 * @param startRequestId of the start that it came with: an id that both share is remembered once, as the start's,
 *   which is asked for first and answers for both (BEHAVIOURS 10: signaled once)
 */
export function writeSignal(draft: Draft, signal: SignalFields, startRequestId = ''): void {
  const { name, input, identity, header, requestId, links } = signal;
  draft.outside(
    {
      kind: 'WorkflowExecutionSignaled',
      attributes: {
        signalName: name,
        input,
        identity,
        header,
        requestId: requestId === '' ? draft.origin : requestId,
      },
    },
    links,
  );
  if (requestId !== startRequestId) draft.remember({ requestId, kind: 'signal' });
}

/** Why an open run takes no further signal: limits of DESIGN 3. */
export function signalRefusal(run: LiveRun, ctx: DecideContext): AtollError | undefined {
  const { state } = run;
  const { limits } = ctx;
  const signals = state.signalCount + state.buffered.filter(isSignal).length;
  if (signals >= limits.maximumSignals)
    return new AtollError(
      'resource-exhausted',
      `run ${state.runId} has taken ${signals} signals, the most that a run may: start another run`,
    );
  const events = state.nextEventId - 1 + state.buffered.length;
  if (events >= limits.maximumEvents || state.historyBytes >= limits.maximumHistoryBytes)
    return new AtollError(
      'resource-exhausted',
      `the history of run ${state.runId} is full (${events} events, ${state.historyBytes} bytes): start another run`,
    );
  return undefined;
}

function isSignal(event: { readonly kind: string }): boolean {
  return event.kind === 'WorkflowExecutionSignaled';
}
