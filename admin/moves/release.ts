/**
 * Step 6: the target is told until it acts; the old side is told for a while, and reads the map when it comes back. In a
 * failover it is told once: it is dead, most likely, and who commanded the failover waits.
 */
import type { Move } from '../../fleet/move.ts';
import { ask, MOVE_PACE, type Facts, type Step } from './facts.ts';

export function release(move: Move, facts: Facts): Step {
  const { target, source } = facts;
  if (target === undefined) return ask('observe-target');
  if (target.kind === 'failed') {
    const ms = MOVE_PACE.drainLookMs * 2 ** Math.min(facts.failures, 8);
    return { kind: 'wait', ms, note: `${move.to}: ${target.message}`, forget: ['target'] };
  }
  if (source === undefined) return ask('observe-source');
  const isForced = move.kind === 'failover';
  if (source.kind === 'failed' && !isForced && facts.phaseMs < MOVE_PACE.tellOldSideMs) {
    const note = `${move.from}: ${source.message}`;
    return { kind: 'wait', ms: MOVE_PACE.lookMs, note, forget: ['source'] };
  }
  return isForced ? { kind: 'end' } : { kind: 'advance', to: 'settled' };
}
