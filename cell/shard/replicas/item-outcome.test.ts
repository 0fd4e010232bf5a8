import { describe, expect, it } from 'vitest';
import { AtollError, type ErrorCode } from '../../../kernel/errors.ts';
import { InvariantError } from '../../../kernel/invariant.ts';
import { oneOutcome, outcomeOfError } from './item-outcome.ts';

describe('what a thing of a call throws', () => {
  it.each<[ErrorCode, string]>([
    ['unavailable', 'later'],
    ['deadline-exceeded', 'later'],
    ['resource-exhausted', 'later'],
    ['failed-precondition', 'later'],
    ['internal', 'refused'],
    ['data-loss', 'refused'],
    ['invalid-argument', 'refused'],
  ])('%s is its own outcome: %s', (code, kind) => {
    expect(outcomeOfError(new AtollError(code, 'why'))).toEqual({ kind, reason: 'why' });
  });

  it('is refused where it is an error of ours', () => {
    expect(outcomeOfError(new InvariantError('it broke'))).toMatchObject({ kind: 'refused' });
  });

  it('ends the whole call where the caller is gone', async () => {
    const gone = new AbortController();
    const act = () => {
      gone.abort(new AtollError('cancelled', 'gone'));
      return Promise.reject(new AtollError('unavailable', 'why'));
    };
    await expect(oneOutcome(gone.signal, act)).rejects.toMatchObject({ code: 'cancelled' });
  });
});
