import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { COPIED } from './mutant-trial.ts';

const ROOT = join(import.meta.dirname, '..', '..');

describe('the copy of the tree that a mutant is tried in', () => {
  it('has all that the simulator and what it copies import', () => {
    const copied = (path: string) =>
      COPIED.some((part) => path === part || path.startsWith(`${part}/`));
    const missing = COPIED.flatMap((part) => sourcesOf(part)).flatMap((file) =>
      importsOf(file)
        .filter((path) => !copied(path))
        .map((path) => `${file} imports ${path}`),
    );
    expect(missing).toEqual([]);
  });
});

function sourcesOf(part: string): readonly string[] {
  const files = part.includes('.')
    ? [part]
    : readdirSync(join(ROOT, part), { recursive: true, encoding: 'utf8' }).map((file) =>
        join(part, file),
      );
  return files.filter((file) => /(?<!\.test)\.ts$/.test(file));
}

function importsOf(file: string): readonly string[] {
  const source = readFileSync(join(ROOT, file), 'utf8');
  return [...source.matchAll(/from '(\.[^']+)'/g)].map(([, path]) =>
    normalize(join(dirname(file), path ?? '')),
  );
}
