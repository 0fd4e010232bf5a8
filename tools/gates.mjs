/**
 * The gates of the house, each a command that fails by itself: types, lint, format, arrows, SQL, dead code.
 *
 * Place: `npm run check` runs them alone; `npm test` runs them before the tests.
 */
import { pathToFileURL } from 'node:url';
import { runSteps } from './run-steps.mjs';

/** @type {import('./run-steps.mjs').Step[]} */
export const gates = ['typecheck', 'lint', 'format:check', 'arch', 'sql', 'dead'].map((script) => ({
  name: script,
  command: ['npm', 'run', '--silent', script],
  counts: 'one',
  maxMinutes: 3,
}));

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await runSteps(gates);
