/** Outcomes and events in few words, for the tables of tests. */
import { RetryState, TimeoutType } from '../../../../wire/enums.ts';
import type { Failure } from '../../../../wire/plain.ts';
import type { DraftEvent } from '../../draft-change.ts';
import type { Patch } from '../../patch.ts';
import type { Outcome } from './scene.ts';

/** `nothing` for an answer without changes. */
export function describeOutcome(outcome: Outcome | undefined): string {
  if (outcome === undefined) return 'nothing';
  switch (outcome.kind) {
    case 'obsolete':
      return 'obsolete';
    case 'refuse':
      return `refused ${outcome.error.code}`;
    case 'bad-command':
      return `bad: ${outcome.message}`;
    case 'unbuffer':
      return `unbuffer ${outcome.index}`;
    case 'changes': {
      const words = outcome.changes.map((change) =>
        'patch' in change ? describePatch(change.patch) : describeEvent(change.event),
      );
      if (outcome.reply?.kind === 'heartbeat' && outcome.reply.cancelRequested)
        words.push('cancel!');
      return words.join(', ') || `nothing`;
    }
  }
}

function describePatch(patch: Patch): string {
  switch (patch.kind) {
    case 'activity-started':
      return 'started';
    case 'activity-retry':
      return `attempt ${patch.attempt} at ${patch.scheduledAt / 1000}`;
    case 'activity-heartbeat':
      return 'beat';
    default:
      return patch.kind;
  }
}

export function describeEvent(event: DraftEvent): string {
  const kind = event.kind.replace('ActivityTask', '');
  switch (event.kind) {
    case 'ActivityTaskStarted':
      return `${kind}(${event.attributes.attempt})`;
    case 'ActivityTaskFailed':
      return `${kind} ${nameOf(RetryState, event.attributes.retryState)}`;
    case 'ActivityTaskTimedOut':
      return `${kind} ${timeoutOf(event.attributes.failure)} ${nameOf(RetryState, event.attributes.retryState)}`;
    default:
      return kind;
  }
}

function timeoutOf(failure: Failure | undefined): string {
  return nameOf(TimeoutType, failure?.timeoutFailureInfo?.timeoutType);
}

function nameOf(names: Readonly<Record<string, number>>, value: number | undefined): string {
  return Object.entries(names).find(([, number]) => number === value)?.[0] ?? String(value);
}

/** Cells of a table whose rows are lines and whose first line is its head. */
export function tableRows(text: string): string[][] {
  const [, ...lines] = text.trim().split('\n');
  return lines.map((line) => line.split('|').map((cell) => cell.trim()));
}
