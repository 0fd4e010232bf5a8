/** After a rollback: the source is told until it opens, for a while; it reads the map when it comes back. */
import type { Move } from '../../fleet/move.ts';
import { ask, MOVE_PACE, type Facts, type Step } from './facts.ts';

export function reopen(move: Move, facts: Facts): Step {
  const { source } = facts;
  if (source === undefined) return ask('observe-source');
  if (source.kind === 'failed' && facts.phaseMs < MOVE_PACE.tellOldSideMs) {
    const note = `${move.from}: ${source.message}`;
    return { kind: 'wait', ms: MOVE_PACE.lookMs, note, forget: ['source'] };
  }
  return { kind: 'end' };
}
