/**
 * Folds what a run counts and shows: signals, cancel requests, memo, search attributes.
 *
 * Place: called by apply/fold.ts for every event; cancel requests also when they are buffered.
 */
import type { HistoryEvent } from '../../../wire/events.ts';
import type { Payload } from '../../../wire/plain.ts';
import type { Fold } from './fold-state.ts';

export function applyProperties(fold: Fold, event: HistoryEvent): void {
  switch (event.kind) {
    case 'WorkflowExecutionSignaled':
      fold.signalCount += 1;
      return;
    case 'WorkflowExecutionCancelRequested':
      fold.cancelRequested = true;
      return;
    case 'WorkflowPropertiesModified':
      fold.memo = { fields: merged(fold.memo?.fields, event.attributes.upsertedMemo?.fields) };
      return;
    case 'UpsertWorkflowSearchAttributes': {
      const upserted = event.attributes.searchAttributes?.indexedFields;
      fold.searchAttributes = {
        indexedFields: merged(fold.searchAttributes?.indexedFields, upserted),
      };
      return;
    }
    default:
  }
}

type Fields = { readonly [name: string]: Payload | undefined };

/** The contract: an empty payload removes its field. */
function merged(before: Fields | undefined, upserted: Fields | undefined): Record<string, Payload> {
  const fields: Record<string, Payload> = {};
  for (const [name, payload] of Object.entries({ ...before, ...upserted })) {
    if (payload !== undefined && !removes(payload)) fields[name] = payload;
  }
  return fields;
}

/** What SDKs send for "unset": no data at all, or JSON null or an empty list. */
function removes(payload: Payload): boolean {
  const { data } = payload;
  if (data === undefined || data.length === 0) return true;
  return is(data, NULL) || is(data, EMPTY_LIST);
}

const NULL = [0x6e, 0x75, 0x6c, 0x6c];
const EMPTY_LIST = [0x5b, 0x5d];

function is(data: Uint8Array, bytes: readonly number[]): boolean {
  return data.length === bytes.length && bytes.every((byte, index) => data[index] === byte);
}
