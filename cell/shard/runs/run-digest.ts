/**
 * The digest of an execution (PROTOCOLS 10): a hash chain over its events, a hash of its canonical state, and one of its
 * ledger and current-run pointer. Equal digests at the same transition mean equal replicas.
 *
 * Invariant: the chain goes event by event, so that it does not depend on how events were batched into rows.
 */
import { createHash } from 'node:crypto';
import { encodeCbor } from '../../../wire/cbor.ts';
import { scanEvents } from '../../../wire/event-scan.ts';
import type { CurrentRun, LedgerEntry } from '../../history/execution.ts';
import { encodeState } from '../../history/state-codec.ts';
import type { RunState } from '../../history/state.ts';

/** The chain over no event. */
const EMPTY_CHAIN = Buffer.alloc(32);

/** Where a chain stands: kept per run, so that a digest costs the events since the last one. */
export type Chain = { readonly lastEventId: number; readonly hash: Buffer };

export const NO_EVENTS: Chain = { lastEventId: 0, hash: EMPTY_CHAIN };

/** The chain after these events, which follow its last one. */
export function chained(chain: Chain, events: Uint8Array): Chain {
  let { hash, lastEventId } = chain;
  for (const { eventId, start, end } of scanEvents(events)) {
    hash = createHash('sha256').update(hash).update(events.subarray(start, end)).digest();
    lastEventId = eventId;
  }
  return { lastEventId, hash };
}

/** Hashes of states, which never change: as long as somebody holds the state. */
const hashes = new WeakMap<RunState, string>();

export function stateHash(state: RunState): string {
  let hash = hashes.get(state);
  if (hash === undefined) hashes.set(state, (hash = hashOf(encodeState(state))));
  return hash;
}

/** Of pointer and ledger; the order of entries is each cell's own, and what they cover, and what gave the pointer. */
export function executionHash(current: CurrentRun, ledger: readonly LedgerEntry[]): string {
  const entries = ledger
    .map((entry) => (entry.covered ? { ...entry, covered: undefined } : entry))
    .toSorted((a, b) => (a.requestId < b.requestId ? -1 : 1));
  return hashOf([{ ...current, by: undefined }, entries]);
}

/** Equal values have equal CBOR, whatever order their fields were set in. */
function hashOf(value: unknown): string {
  return createHash('sha256')
    .update(encodeCbor(withoutDefaults(value)))
    .digest('hex');
}

/**
 * Without fields that hold their type's default: attributes that came in a call spell them out, the same ones read back
 * from an event do not, and both are the same to everybody (proto3).
 */
function withoutDefaults(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map(withoutDefaults);
  const fields = Object.entries(value).filter(([, field]) => !isDefault(field));
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutDefaults(field)]));
}

function isDefault(field: unknown): boolean {
  if (Array.isArray(field) || field instanceof Uint8Array) return field.length === 0;
  return field === undefined || field === 0 || field === '' || field === false;
}
