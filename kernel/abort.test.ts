/** AbortSource behaves to its listeners as the platform's AbortSignal does. */
import { describe, expect, it } from 'vitest';
import { AbortSource } from './abort.ts';

/** Both kinds behind one face: whatever holds for the platform's must hold for ours. */
const KINDS: readonly (readonly [
  string,
  () => { readonly signal: AbortSignal; readonly abort: (why: unknown) => void },
])[] = [
  [
    'the platform',
    () => {
      const controller = new AbortController();
      return { signal: controller.signal, abort: (why) => controller.abort(why) };
    },
  ],
  [
    'an AbortSource',
    () => {
      const source = new AbortSource();
      return { signal: source, abort: (why) => source.abort(why) };
    },
  ],
];

describe.each(KINDS)('a signal of %s', (_, make) => {
  it('tells its listeners once, in their order, with its reason at hand', () => {
    const { signal, abort } = make();
    const heard: unknown[] = [];
    for (const name of ['a', 'b', 'c'])
      signal.addEventListener('abort', () => heard.push([name, signal.reason]), { once: true });
    abort('first');
    abort('second');
    expect(heard).toEqual([
      ['a', 'first'],
      ['b', 'first'],
      ['c', 'first'],
    ]);
    expect(signal.aborted).toBe(true);
    expect(() => signal.throwIfAborted()).toThrow('first');
  });

  it('calls a listener once that was added twice, and none that was taken back', () => {
    const { signal, abort } = make();
    const heard: string[] = [];
    const listeners = ['a', 'b', 'c', 'd'].map((name) => () => heard.push(name));
    for (const listener of [...listeners, ...listeners]) {
      signal.addEventListener('abort', listener, { once: true });
    }
    for (const at of [0, 2]) {
      const listener = listeners[at];
      if (listener) signal.removeEventListener('abort', listener);
    }
    abort(undefined);
    expect(heard).toEqual(['b', 'd']);
  });

  it('does not call a listener that another one takes back, nor one added after the abort', () => {
    const { signal, abort } = make();
    const heard: string[] = [];
    const last = () => heard.push('last');
    signal.addEventListener('abort', () => signal.removeEventListener('abort', last), {
      once: true,
    });
    signal.addEventListener('abort', () => heard.push('middle'), { once: true });
    signal.addEventListener('abort', last, { once: true });
    abort('x');
    signal.addEventListener('abort', () => heard.push('late'), { once: true });
    abort('y');
    expect(heard).toEqual(['middle']);
  });

  it('keeps its order when the first listener leaves', () => {
    const { signal, abort } = make();
    const heard: string[] = [];
    const a = () => heard.push('a');
    signal.addEventListener('abort', a);
    signal.addEventListener('abort', () => heard.push('b'));
    signal.removeEventListener('abort', a);
    signal.addEventListener('abort', () => heard.push('c'));
    signal.addEventListener('abort', a);
    abort('x');
    expect(heard).toEqual(['b', 'c', 'a']);
  });
});
