/**
 * What `.ci/run` runs in a fresh clone, in order. Its last line is `N passed, N failed, N skipped`.
 *
 * Place: extended by whoever adds a part that a release must pass; each step is a command that a person would
 * type too. All steps together end within 40 minutes on two cores.
 */
import { runSteps } from './run-steps.mjs';

await runSteps([
  { name: 'install', command: ['npm', 'ci'], counts: 'one', maxMinutes: 5, required: true },
  { name: 'npm test', command: ['npm', 'test'], counts: 'line', maxMinutes: 12 },
]);
