import { expect, test } from 'vitest';
import { readMigrations, splitStatements } from './migrate.ts';

test('statements end with a semicolon at the end of a line, and comments are left out', () => {
  const text = `-- first; not a statement
CREATE TABLE a (
  t text DEFAULT ';x' -- kept
);
  -- second
DROP TABLE b;

`;
  expect(splitStatements(text)).toEqual([
    "CREATE TABLE a (\n  t text DEFAULT ';x' -- kept\n)",
    'DROP TABLE b',
  ]);
});

test('the migrations of this release are numbered without gaps and may be run again', async () => {
  const migrations = await readMigrations();
  expect(migrations.map(({ number }) => number)).toEqual(migrations.map((_, index) => index + 1));
  for (const { name, statements } of migrations) {
    expect(`${name}: ${statements.length}`).toMatch(/: [1-9]/);
    for (const statement of statements) {
      expect(statement).toMatch(/IF NOT EXISTS|^ALTER TABLE \w+ (SET|ALTER COLUMN \w+ SET)/);
    }
  }
});

test('hot tables have their primary key and no other index, and begin it with the shard', async () => {
  const [first] = await readMigrations();
  const statements = (await readMigrations()).flatMap((migration) => migration.statements);
  const tables = first?.statements.filter((text) => text.startsWith('CREATE TABLE')) ?? [];
  for (const table of tables)
    expect(table).toMatch(/PRIMARY KEY \(shard_id|shard_id .*PRIMARY KEY/);
  const names = tables.map((text) => /EXISTS (\w+)/.exec(text)?.[1] ?? '');
  expect(names).toHaveLength(8);
  const extras = statements.filter((text) => /^CREATE (UNIQUE )?(INDEX|TRIGGER)/.test(text));
  const onHot = extras.filter((text) => names.includes(/ ON (\w+)/.exec(text)?.[1] ?? ''));
  expect(onHot).toEqual([]);
});
