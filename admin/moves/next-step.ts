/**
 * The state machine of a move (D10), pure: its phase as the map holds it, and what is known in this phase → what comes
 * next. driver.ts performs it. Whoever asks with no facts, after any crash, is led through the phase again.
 */
import type { Move } from '../../fleet/move.ts';
import type { Facts, Step } from './facts.ts';
import { handover } from './handover.ts';
import { release } from './release.ts';
import { reopen } from './reopen.ts';
import { reverse } from './reverse.ts';
import { seed } from './seed.ts';
import { tail } from './tail.ts';
import { verify } from './verify.ts';

export function nextStep(move: Move, facts: Facts): Step {
  switch (move.phase) {
    case 'seed':
      return seed(facts);
    case 'tail':
      return tail(facts);
    case 'verify':
      return verify(facts);
    case 'reverse':
      return reverse(facts);
    case 'handover':
      return handover(move, facts);
    case 'release':
      return release(move, facts);
    case 'reopen':
      return reopen(move, facts);
    case 'settled':
      return move.autoConfirm ? { kind: 'end' } : { kind: 'rest' };
    case 'finished':
      return { kind: 'rest' };
  }
}
