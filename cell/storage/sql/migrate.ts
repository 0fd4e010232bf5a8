/**
 * Brings a database to the schema of this release: the numbered files of `migrations/`, in order, each statement alone.
 *
 * Invariants
 *  1. Every statement is idempotent, so a migration that was cut off is simply run again, by whichever process.
 *  2. A database of a newer release is used as it is: releases read their neighbours (D17).
 *  3. A file with the line `-- only: PostgreSQL` counts as applied on another product, and is not run there.
 */
import { readdir, readFile } from 'node:fs/promises';
import { AtollError } from '../../../kernel/errors.ts';
import type { Log } from '../../../kernel/log.ts';
import { causeCodeOf } from './connection-errors.ts';
import type { Runner } from './ownership.ts';

const FOLDER = new URL('../migrations/', import.meta.url);
const FILE_NAME = /^(\d{3})-[a-z0-9-]+\.sql$/;
const ONLY = /^-- only: (\w+)$/m;
const ATTEMPTS = 5;
/** What two processes meet that create the same thing at once: duplicates, deadlock, "tuple concurrently updated". */
const RACES = new Set(['23505', '42P07', '42710', '40P01', 'XX000']);

export type Migration = {
  readonly number: number;
  readonly name: string;
  readonly statements: readonly string[];
  /** The only product that it is for; absent: all. */
  readonly only?: string | undefined;
};

/** The migrations of a folder, by number. The default is this release's. */
export async function readMigrations(folder: URL = FOLDER): Promise<readonly Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  const migrations = await Promise.all(
    names.map(async (name) => {
      const text = await readFile(new URL(name, folder), 'utf8');
      return {
        number: Number(FILE_NAME.exec(name)?.[1] ?? 0),
        name,
        statements: splitStatements(text),
        only: ONLY.exec(text)?.[1],
      };
    }),
  );
  const misplaced = migrations.find(({ number }, index) => number !== index + 1);
  if (misplaced || migrations.length === 0) {
    throw new AtollError(
      'internal',
      `migrations must be named 001-name.sql, 002-name.sql, … without gaps: ${misplaced?.name ?? 'none found'}`,
    );
  }
  return migrations;
}

/** Statements end with a semicolon at the end of a line; comments are whole lines. */
export function splitStatements(text: string): readonly string[] {
  return text
    .split('\n')
    .filter((line) => !line.trimStart().startsWith('--'))
    .join('\n')
    .split(/;[ \t]*(?:\n|$)/)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
}

/** Applies what the database lacks. Any number of processes may do so at once. */
export async function migrate(
  runner: Runner,
  {
    product,
    log,
    signal,
  }: { readonly product: string; readonly log: Log; readonly signal: AbortSignal },
): Promise<void> {
  const run = (text: string, values: readonly (string | number)[] = []) =>
    insist(() => runner.run<{ readonly number: number }>({ text, values }, signal));
  await run(`CREATE TABLE IF NOT EXISTS schema_migration (
    number int4 NOT NULL PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`);
  const applied = new Set(
    (await run('SELECT number FROM schema_migration')).map(({ number }) => number),
  );
  for (const { number, name, statements, only } of await readMigrations()) {
    if (applied.has(number)) continue;
    const meant = only === undefined || only === product;
    for (const statement of meant ? statements : []) await run(statement);
    await run(
      'INSERT INTO schema_migration (number, name) VALUES ($1, $2) ON CONFLICT DO NOTHING',
      [number, name],
    );
    log.info({ migration: name }, 'brought the database schema forward');
  }
}

async function insist<Result>(attempt: () => Promise<Result>): Promise<Result> {
  for (let left = ATTEMPTS; ; left -= 1) {
    try {
      return await attempt();
    } catch (error) {
      if (left <= 1 || !RACES.has(causeCodeOf(error) ?? '')) throw error;
    }
  }
}
