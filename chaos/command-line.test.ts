import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { countOf, readCommandLine } from './command-line.ts';

const USAGE = 'npm run it -- [flags]\n';
const options = { seeds: { type: 'string', default: '3' } } as const;
const argv = process.argv;
let out = '';

/** What the command line comes to: its value, or its exit code. */
function read(...flags: readonly string[]): string {
  process.argv = ['node', 'main.ts', ...flags];
  return countOf('seeds', readCommandLine(USAGE, { options }).values.seeds, 1).toString();
}

beforeEach(() => {
  out = '';
  const keep = (text: unknown) => {
    out += String(text);
    return true;
  };
  vi.spyOn(process.stdout, 'write').mockImplementation(keep);
  vi.spyOn(process.stderr, 'write').mockImplementation(keep);
  vi.spyOn(process, 'exit').mockImplementation((code) => {
    throw new Error(`exit ${code}`);
  });
});
afterEach(() => {
  process.argv = argv;
  vi.restoreAllMocks();
});

it('a command takes its flags, or what they are without', () => {
  expect([read(), read('--seeds', '7')]).toEqual(['3', '7']);
});

it('a command tells its flags, and starts nothing', () => {
  expect(() => read('--seeds', '7', '--help')).toThrow('exit 0');
  expect(out).toBe(USAGE);
});

it.each`
  flags                  | says
  ${['--nope']}          | ${"Unknown option '--nope'"}
  ${['--seeds']}         | ${'argument missing'}
  ${['--seeds', 'many']} | ${'--seeds many: a whole number, 1 or more'}
  ${['--seeds', '0']}    | ${'--seeds 0: a whole number, 1 or more'}
  ${['--seeds', '1.5']}  | ${'--seeds 1.5: a whole number, 1 or more'}
  ${['--seeds', '']}     | ${'--seeds : a whole number, 1 or more'}
`('$flags ends the command before it starts', ({ flags, says }) => {
  expect(() => read(...(flags as string[]))).toThrow('exit 2');
  expect(out).toContain(says);
});
