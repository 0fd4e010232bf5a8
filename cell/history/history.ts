/**
 * The pure core's face (D4): the functions the shard calls. Everything else in this folder serves them.
 *
 *   decideStart(scope, input, ctx)  → Decision      a start or signal-with-start of a workflow id
 *   decide(run, input, ctx)         → Decision      anything else, of one run
 *   applyTransition(state, t)       → RunState      replay, takeover, rebuild: the same fold that decide used
 *   pendingWork(state, start?)      → Work[]        what must happen next outside
 *   indexRow(state)                 → IndexRow      what visibility shows
 *
 * Invariants
 *  1. No I/O, clock or randomness: the same arguments give the same result.
 *  2. decide's state equals applyTransition over its transitions.
 */
export { applyTransition } from './apply/transition.ts';
export { decide } from './decide.ts';
export { indexRow } from './index-row.ts';
export { pendingWork } from './pending-work.ts';
export { decideStart } from './start.ts';
