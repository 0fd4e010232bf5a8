/**
 * The house rules that no compiler or linter checks, as tests over the tree itself.
 *
 * Invariants
 *  1. A rule's list of exceptions is a ratchet: it may shrink, and an entry that is no longer needed fails.
 *  2. Each rule is shown to bite on a planted breach (`the rules themselves`, below).
 */
import { basename } from 'node:path';
import { describe, expect, it } from 'vitest';
import { GRPC_STATUS } from './kernel/errors.ts';
import {
  functionsOf,
  machineUsesOf,
  parse,
  portsOf,
  readTree,
  type SourceFile,
} from './tools/source-tree.ts';

const MAX_FILE_LINES = 400;
const MAX_FUNCTION_LINES = 70;
const MAX_PORT_METHODS = 10;

/** path → lines allowed, for a file that is longer than the house allows. Only ever lower or remove. */
const LONG_FILES: Readonly<Record<string, number>> = {};
/** `path name` → lines allowed, for a function that is longer than the house allows. */
const LONG_FUNCTIONS: Readonly<Record<string, number>> = {};

/** Where the machine's clock and randomness may be named at all (habit 2). Sockets live in machine time. */
const MACHINE_ADAPTERS = /^(bin\/|kernel\/((clock|rng)\.ts$|rpc\/))/;

/** Put together from halves, so that this file does not break its own rule. */
const FORBIDDEN_TEXT = [
  ['/wor', 'k/main'],
  ['/wor', 'k/shared'],
  ['registry.npm', 'js.org'],
  ['registry.yarn', 'pkg.com'],
  ['session', ' notes'],
].map((halves) => halves.join(''));

const tree = readTree();
const code = tree.filter((file) => file.path.endsWith('.ts'));
const shipped = code.filter((file) => file.isShipped);

/** Breaches beyond the ratchet, and entries of the ratchet that are looser than they need be. */
function ratchet(
  sizes: ReadonlyMap<string, number>,
  allowed: Readonly<Record<string, number>>,
  limit: number,
): string[] {
  const over = [...sizes].filter(([key, size]) => size > (allowed[key] ?? limit));
  const loose = Object.entries(allowed).filter(([key, most]) => {
    const size = sizes.get(key) ?? 0;
    return size < most || most <= limit;
  });
  return [
    ...over.map(([key, size]) => `${key}: ${size}, at most ${allowed[key] ?? limit}`),
    ...loose.map(([key]) => `${key}: lower or remove its exception, it is ${sizes.get(key) ?? 0}`),
  ];
}

function longest(files: readonly SourceFile[], measure: typeof functionsOf): Map<string, number> {
  const sizes = new Map<string, number>();
  for (const file of files) {
    for (const { what, size } of measure(parse(file))) {
      const key = `${file.path} ${what}`;
      sizes.set(key, Math.max(size, sizes.get(key) ?? 0));
    }
  }
  return sizes;
}

/** `toMatchObject` is content with every text where a regular expression stands: it takes `expect.stringMatching`. */
function bareMatches({ path, text }: Pick<SourceFile, 'path' | 'text'>): string[] {
  return text
    .split('\n')
    .map((line, i) => `${path}:${i + 1} ${line.trim()}`)
    .filter((line) => /['\w-]+: \/(?![/*]).+\/[a-z]*(,|\s*\})/.test(line));
}

describe('the tree', { timeout: 60_000 }, () => {
  it('has code to look at', () => {
    expect(shipped.length).toBeGreaterThan(10);
  });

  it(`has no file of more than ${MAX_FILE_LINES} lines`, () => {
    const sizes = new Map(code.map((file) => [file.path, file.lines]));
    expect(ratchet(sizes, LONG_FILES, MAX_FILE_LINES)).toEqual([]);
  });

  it(`has no function of more than ${MAX_FUNCTION_LINES} lines`, () => {
    const sizes = longest(
      code.filter((file) => !file.isTest && !file.path.includes('/conformance/')),
      functionsOf,
    );
    expect(ratchet(sizes, LONG_FUNCTIONS, MAX_FUNCTION_LINES)).toEqual([]);
  });

  it(`has no port of more than ${MAX_PORT_METHODS} methods`, () => {
    expect(ratchet(longest(shipped, portsOf), {}, MAX_PORT_METHODS)).toEqual([]);
  });

  it('has kebab-case names that say what is inside', () => {
    const vague = /^(utils?|helpers?|managers?|common|misc|shared|lib|index)$/;
    const breaches = code.flatMap(({ path }) =>
      path.split('/').filter((part) => {
        const name = part.replace(/(\.[a-z0-9]+)+$/, '');
        if (name === 'index' && path.startsWith('sdk/')) return false;
        return !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name) || vague.test(name) || /-utils?$/.test(name);
      }),
    );
    expect(breaches).toEqual([]);
  });

  it('holds no text against a bare regular expression, which any text matches there', () => {
    const breaches = code.filter(({ isTest }) => isTest).flatMap(bareMatches);
    expect(breaches).toEqual([]);
  });

  it('opens every file but tests with a comment that says what it is', () => {
    const bare = tree.filter(
      ({ path, text, isTest }) =>
        !isTest && /\.(ts|mjs)$/.test(path) && !/^(#!.*\n)?\/\*\*\s/.test(text),
    );
    expect(bare.map((file) => file.path)).toEqual([]);
  });

  it('names the machine clock, randomness and environment only in their adapters', () => {
    const uses = shipped
      .filter((file) => !MACHINE_ADAPTERS.test(file.path))
      .flatMap((file) => machineUsesOf(parse(file)))
      .map(({ where, what }) => `${where} ${what}: take it as an argument (Clock, Rng, options)`);
    expect(uses).toEqual([]);
  });

  it('runs every test: none is alone, none is switched off', () => {
    const switched = /\b(it|test|describe)\.(only|skip|todo)\b/;
    const breaches = code.filter((file) => file.isTest && switched.test(file.text));
    expect(breaches.map((file) => file.path)).toEqual([]);
  });

  it('holds no path of a build machine and no host of a package registry', () => {
    const breaches = tree.flatMap(({ path, text }) =>
      FORBIDDEN_TEXT.filter((word) => text.includes(word)).map((word) => `${path}: ${word}`),
    );
    expect(breaches).toEqual([]);
  });

  it('locks packages without naming where they were fetched from', () => {
    const lock = tree.find((file) => basename(file.path) === 'package-lock.json');
    expect(lock?.text).toContain('"lockfileVersion"');
    expect(lock?.text).not.toContain('"resolved"');
  });

  it('documents every error code, and no other', () => {
    const page = tree.find((file) => file.path === 'docs/errors.md')?.text ?? '';
    const sections = [...page.matchAll(/^## (.+)$/gm)].map((match) => match[1] ?? '');
    expect(sections.toSorted()).toEqual(Object.keys(GRPC_STATUS).toSorted());
    for (const [name, status] of Object.entries(GRPC_STATUS)) {
      expect(page).toContain(`| [${name}](#${name}) | ${status} |`);
    }
  });
});

describe('the rules themselves', () => {
  const planted = (text: string) => parse({ path: 'planted.ts', text });

  it('see long functions and wide ports', () => {
    const long = planted(`const f = () => {\n${'g();\n'.repeat(70)}};`);
    expect(functionsOf(long)).toEqual([{ where: 'planted.ts:1', what: 'a function', size: 72 }]);
    const wide = planted('interface P { a(): void; b: () => void; c: number }');
    expect(portsOf(wide)).toEqual([{ where: 'planted.ts:1', what: 'P', size: 2 }]);
  });

  it('see a text that is held against a bare regular expression', () => {
    const text = ['m({ message: ', '/x/ });\nm({ message: expect.stringMatching(/x/) });'].join('');
    expect(bareMatches({ path: 'planted.test.ts', text })).toHaveLength(1);
  });

  it('see the machine where the linter does not', () => {
    const uses = machineUsesOf(
      planted(
        'new Date(); new Date(5);\nsystemClock.now();\nglobalThis.setTimeout(f);\nconst { env } = process;',
      ),
    );
    expect(uses.map(({ where, what }) => `${where} ${what}`)).toEqual([
      'planted.ts:1 new Date()',
      'planted.ts:2 systemClock',
      'planted.ts:3 globalThis.setTimeout',
      'planted.ts:4 = process',
    ]);
  });

  it('let an exception shrink, never grow or linger', () => {
    const sizes = new Map([
      ['grown.ts', 520],
      ['shrunk.ts', 450],
      ['kept.ts', 500],
      ['fine.ts', 10],
    ]);
    const allowed = { 'grown.ts': 500, 'shrunk.ts': 500, 'kept.ts': 500, 'gone.ts': 500 };
    expect(ratchet(sizes, allowed, 400)).toEqual([
      'grown.ts: 520, at most 500',
      'shrunk.ts: lower or remove its exception, it is 450',
      'gone.ts: lower or remove its exception, it is 0',
    ]);
  });
});
