/**
 * The pure core's face (D4): the functions the shard calls. Everything else in this folder serves them.
 *
 *   decideStart(scope, input, ctx)  → Decision      a start or signal-with-start of a workflow id
 *   decide(run, input, ctx)         → Decision      anything else, of one run
 *   applyTransition(state, t)       → RunState      replay, takeover, rebuild: the same fold that decide used
 *   pendingWork(state, start?)      → Work[]        what must happen next outside
 *   indexRow(state)                 → IndexRow      what visibility shows
 *
 * Where to start reading: draft.ts (how a decision is made), apply/fold.ts (how it is folded), workflow-task/ (what a
 * worker's task goes through: schedule, start, carry, claim, complete, fail, due), commands/ (what a task decides),
 * activities/ and timers.ts, then signal, cancel, terminate, start and run-retry, each an input or two. A decision opens
 * a draft on the live run (carrying a memory-only start, D7), adds events and patches, and finishes into a step.
 *
 * Invariants
 *  1. No I/O, clock or randomness: the same arguments give the same result.
 *  2. decide's state equals applyTransition over its transitions.
 */
export { applyTransition } from './apply/transition.ts';
export { decide } from './decide.ts';
export { indexRow } from './index-row.ts';
export { isOfOlderEpoch, waitsSticky } from './workflow-task/fail-over.ts';
export { pendingWork } from './pending-work.ts';
export { decideStart } from './start.ts';
