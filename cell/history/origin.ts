/**
 * Origins: the names of inputs to which their client gave none (PROTOCOLS 9). The run, the epoch of the first acceptance and
 * its place there name an input wherever its branch comes to lie, so that it is applied again once and not a second time.
 *
 * Invariants
 *  1. It is given when the input is accepted and written into its event: a step, an image and a buffer all carry the same.
 */
import { epochOf, type Lineage } from './lineage.ts';

const ORIGIN = 'atoll-origin';

export type Origin = {
  readonly runId: string;
  readonly epoch: number;
  /** Of the transition that took it, and its place among the changes of that. */
  readonly number: number;
  readonly at: number;
};

/** The request id that stands for that origin. */
export function originId({ runId, epoch, number, at }: Origin): string {
  return `${ORIGIN}/${runId}/${epoch}/${number}/${at}`;
}

/** The origin that a request id stands for; undefined for one that a client gave. */
export function originOf(requestId: string): Origin | undefined {
  const [prefix, runId, epoch, number, at] = requestId.split('/');
  if (prefix !== ORIGIN || runId === undefined) return undefined;
  return { runId, epoch: Number(epoch), number: Number(number), at: Number(at) };
}

/** Whether the branch that ends so holds the input of that origin itself. */
export function holdsOrigin(lineage: Lineage, runId: string, requestId: string): boolean {
  const origin = originOf(requestId);
  if (origin?.runId !== runId) return false;
  return epochOf(lineage, origin.number) === origin.epoch;
}
