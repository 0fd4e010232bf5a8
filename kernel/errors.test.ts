/** The error class: what it keeps, and what any thrown value becomes. */
import { describe, expect, it } from 'vitest';
import { AtollError, GRPC_STATUS, toAtollError } from './errors.ts';

describe('AtollError', () => {
  it('has a gRPC status of its own for each code, and never OK', () => {
    const statuses = Object.values(GRPC_STATUS);
    expect(new Set(statuses).size).toBe(statuses.length);
    expect(Math.min(...statuses)).toBeGreaterThan(0);
  });

  it('keeps cause and detail', () => {
    const detail = { type: 'already-started', value: { runId: 'r' } };
    const error = new AtollError('already-exists', 'open', { cause: 1, detail });
    expect([error.cause, error.detail, error.name]).toEqual([1, detail, 'AtollError']);
  });
});

describe('toAtollError', () => {
  it('leaves one of ours as it is', () => {
    const error = new AtollError('aborted', 'a');
    expect(toAtollError(error)).toBe(error);
  });

  it.each([
    [new Error('boom'), 'boom'],
    ['text', 'text'],
    [null, 'null'],
  ])('makes %s internal and keeps it as the cause', (thrown, message) => {
    expect(toAtollError(thrown)).toMatchObject({ code: 'internal', message, cause: thrown });
  });
});
