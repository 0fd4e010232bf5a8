/**
 * Step 5: calls are held. Gates close every shard of the source, the target applies up to them, every execution that has
 * changed since it was last found equal is held against the target; then the flip. Too late, or not as it must be: back, at
 * once.
 */
import type { Move } from '../../fleet/move.ts';
import { ask, MOVE_PACE, type Facts, type Step } from './facts.ts';
import { COMPARE_CHANGED } from './reverse.ts';
import { whyNotFlip } from './flip.ts';

export function handover(move: Move, facts: Facts): Step {
  const { barriers, lane, verified } = facts;
  const missing = whyNotFlip(facts);
  if (missing === undefined) return { kind: 'flip' };
  if (facts.phaseMs >= move.maxPauseMs) {
    const reason = `the handover did not end within ${move.maxPauseMs} ms: ${missing.says}`;
    return { kind: 'roll-back', reason };
  }
  switch (missing.what) {
    case 'gates':
      return barriers === undefined ? ask('gate') : again(missing.says, ['barriers']);
    case 'barriers':
      return lane === undefined ? ask('lane') : again(missing.says, ['lane']);
    case 'clean':
      return { kind: 'roll-back', reason: missing.says };
    case 'digests':
      // Read only: a difference now would be one that no lane carries, and calls are held.
      if (verified === undefined) return { kind: 'ask', ask: COMPARE_CHANGED };
      return verified.kind === 'answered' && verified.value.differences > 0
        ? { kind: 'roll-back', reason: missing.says }
        : again(missing.says, ['verified']);
  }
}

function again(note: string, forget: readonly (keyof Facts)[]): Step {
  return { kind: 'wait', ms: MOVE_PACE.drainLookMs, note, forget };
}
