/**
 * The numbers that a cell's storage is addressed by, branded so that none is taken for another.
 *
 * Place: below both ports, the log and its views; `shard-log.ts` hands them on.
 */

/** A shard of this cell, from 0. */
export type ShardId = number & { readonly brand: 'ShardId' };
/** Position in a shard's log, from 1, without gaps. 0 = nothing yet. */
export type Seq = number & { readonly brand: 'Seq' };
/** Ownership generation of a shard; the larger one owns it. 0 = never owned. */
export type RangeId = number & { readonly brand: 'RangeId' };
/** Names a storage session; grows with each reconnect (promise 4). */
export type SessionId = number & { readonly brand: 'SessionId' };
