/** Deadlines on virtual time: who aborts first, and that nothing is left behind. */
import { describe, expect, it } from 'vitest';
import { orAbort, startDeadline, withDeadline } from './deadline.ts';
import { AtollError } from './errors.ts';
import { VirtualClock } from './testing/virtual-clock.ts';

const never = () => new Promise<never>(() => {});

describe('startDeadline', () => {
  it('aborts with a deadline-exceeded that names the call, not a moment early', () => {
    const clock = new VirtualClock();
    const { signal, atMs } = startDeadline(clock, { what: 'append to shard 3', timeoutMs: 50 });
    expect(atMs).toBe(50);
    clock.advance(49);
    expect(signal.aborted).toBe(false);
    clock.advance(1);
    expect(signal.reason).toBeInstanceOf(AtollError);
    expect(signal.reason).toMatchObject({
      code: 'deadline-exceeded',
      message: 'append to shard 3 did not end within 50 ms',
    });
  });

  it('aborts with its parent, and then its alarm is gone', () => {
    const clock = new VirtualClock();
    const parent = new AbortController();
    const { signal } = startDeadline(clock, { what: 'x', timeoutMs: 50, parent: parent.signal });
    const gone = new Error('the client is gone');
    parent.abort(gone);
    expect(signal.reason).toBe(gone);
    expect(clock.pendingCount).toBe(0);
    const late = startDeadline(clock, { what: 'y', timeoutMs: 50, parent: parent.signal });
    expect(late.signal.reason).toBe(gone);
    expect(clock.pendingCount).toBe(0);
  });

  it('never aborts after it was done', () => {
    const clock = new VirtualClock();
    const parent = new AbortController();
    const deadline = startDeadline(clock, { what: 'x', timeoutMs: 50, parent: parent.signal });
    deadline.done();
    parent.abort();
    clock.advance(100);
    expect(deadline.signal.aborted).toBe(false);
    expect(clock.pendingCount).toBe(0);
  });
});

describe('withDeadline', () => {
  it('hands back what the call answers, and leaves no alarm', async () => {
    const clock = new VirtualClock();
    const answer = await withDeadline(clock, { what: 'x', timeoutMs: 5 }, async () => 7);
    expect(answer).toBe(7);
    expect(clock.pendingCount).toBe(0);
  });

  it('does not wait for a call that ignores its signal', async () => {
    const clock = new VirtualClock();
    const outcome = withDeadline(clock, { what: 'x', timeoutMs: 5 }, never).catch(
      (error: unknown) => error,
    );
    await clock.advanceSettled(5);
    expect(await outcome).toMatchObject({ code: 'deadline-exceeded' });
  });

  it('does not begin a call whose parent has aborted', async () => {
    const parent = AbortSignal.abort(new Error('gone'));
    let began = false;
    const call = async () => {
      began = true;
    };
    const options = { what: 'x', timeoutMs: 5, parent };
    await expect(withDeadline(new VirtualClock(), options, call)).rejects.toThrow('gone');
    expect(began).toBe(false);
  });
});

describe('orAbort', () => {
  it('passes a rejection on, and swallows one that comes after the abort', async () => {
    const controller = new AbortController();
    await expect(orAbort(Promise.reject(new Error('a')), controller.signal)).rejects.toThrow('a');
    let fail: (error: Error) => void = () => {};
    const slow = new Promise<never>((_resolve, reject) => (fail = reject));
    const outcome = orAbort(slow, controller.signal);
    controller.abort(new Error('b'));
    fail(new Error('c'));
    await expect(outcome).rejects.toThrow('b');
  });
});
