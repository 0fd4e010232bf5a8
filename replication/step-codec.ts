/**
 * Steps and images as they travel (`atoll.replication.v1`): each on its own, so that one that cannot be read harms its
 * own run alone.
 *
 *   step    a record of the shard log that holds this transition alone
 *   image   a format version, then CBOR [state, events, current, ledger], and in a repair what it replaces
 *
 * Invariants
 *  1. decodeStep(encodeStep(x)) and decodeImage(encodeImage(x)) equal x; events stay the bytes that the source stored.
 *  2. An unknown format is refused, never guessed at (D17).
 */
import { AtollError } from '../kernel/errors.ts';
import { decodeCbor, encodeCbor } from '../wire/cbor.ts';
import type { CurrentRun, LedgerEntry } from '../cell/history/execution.ts';
import { decodeState, encodeState, type EncodedState } from '../cell/history/state-codec.ts';
import { decodeRecord, encodeRecord } from '../cell/shard/log/record-codec.ts';
import type { ReplicatedStep, RunDigest, RunImage } from '../cell/shard/replicas/replicas.ts';

export function encodeReplicatedStep(step: ReplicatedStep): Uint8Array {
  return encodeRecord([step]);
}

/** @throws AtollError `data-loss` for bytes that are no such record */
export function decodeReplicatedStep(bytes: Uint8Array): ReplicatedStep {
  const [step, ...more] = decodeRecord(bytes).steps;
  if (step === undefined || more.length > 0) {
    throw new AtollError('data-loss', `a replicated record holds ${more.length + 1} transitions`);
  }
  return { transition: step.transition, events: step.events };
}

const IMAGE_FORMAT = 1;
type FlatImage = readonly [
  state: EncodedState,
  events: readonly Uint8Array[],
  current: CurrentRun,
  ledger: readonly LedgerEntry[],
  replaces?: RunDigest | 'nothing',
];

export function encodeImage(image: RunImage): Uint8Array {
  const { state, events, current, ledger, replaces } = image;
  const plain = [encodeState(state), events, current, ledger] as const;
  const flat: FlatImage = replaces === undefined ? plain : [...plain, replaces];
  const body = encodeCbor(flat);
  const bytes = new Uint8Array(body.length + 1);
  bytes[0] = IMAGE_FORMAT;
  bytes.set(body, 1);
  return bytes;
}

/** @throws AtollError `data-loss` for a format that this release does not read */
export function decodeImage(bytes: Uint8Array): RunImage {
  if (bytes[0] !== IMAGE_FORMAT) {
    throw new AtollError(
      'data-loss',
      `a run's image has format ${bytes[0]}, this release reads ${IMAGE_FORMAT}: bring both cells to the same release`,
    );
  }
  const [state, events, current, ledger, replaces] = decodeCbor(bytes.subarray(1)) as FlatImage;
  const image = { state: decodeState(state), events, current, ledger };
  return replaces === undefined ? image : { ...image, replaces };
}
