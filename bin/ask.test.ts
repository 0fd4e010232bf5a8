import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { ask } from './ask.ts';

describe('a question to a person', () => {
  it.each([
    ['a line', 'yes\n', 'yes'],
    ['Ctrl-C', '\u0003', ''],
    ['Ctrl-D', '\u0004', ''],
  ])('is answered by %s', async (_, typed, answer) => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const asked = ask('Really? ', { input, output });
    input.write(typed);
    expect(await asked).toBe(answer);
  });

  it('is not waited for when the terminal goes away', async () => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const asked = ask('Really? ', { input, output });
    input.end();
    expect(await asked).toBe('');
  });
});
