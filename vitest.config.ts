/**
 * Test projects by suffix, which says what a test needs (STYLE, habit 13): `x.test.ts` no I/O, `x.sql.test.ts`
 * a PostgreSQL, `x.fuzz.test.ts` a seed and some time, `x.e2e.test.ts` whole processes.
 *
 * Invariants
 *  1. Each test file belongs to exactly one project.
 *  2. Projects that start databases or processes run after the others, at most two files at a time.
 */
import { configDefaults, defineConfig } from 'vitest/config';
import { CountReporter } from './tools/count-reporter.ts';

const EVERY_TEST = '**/*.test.ts';
const RESOURCE_TESTS = '**/*.{sql,etcd,search,s3,fuzz,e2e}.test.ts';
const NEVER = [...configDefaults.exclude, '**/dist/**', '.atoll/**'];

/** `order` keeps a project's files behind those of the projects before it. */
function project(name: string, order: number, timeoutMs: number, include = `**/*.${name}.test.ts`) {
  return {
    test: {
      name,
      include: [include],
      exclude: name === 'unit' ? [...NEVER, RESOURCE_TESTS] : NEVER,
      environment: 'node',
      allowOnly: false,
      pool: name === 'unit' ? ('threads' as const) : ('forks' as const),
      maxWorkers: 2,
      sequence: { groupOrder: order },
      testTimeout: timeoutMs,
      hookTimeout: Math.max(timeoutMs, 30_000),
    },
  };
}

export default defineConfig({
  test: {
    projects: [
      project('unit', 0, 10_000, EVERY_TEST),
      project('fuzz', 1, 120_000),
      project('sql', 2, 60_000),
      project('e2e', 3, 120_000),
    ],
    passWithNoTests: false,
    reporters: [process.env['CI'] ? 'dot' : 'default', new CountReporter()],
  },
});
