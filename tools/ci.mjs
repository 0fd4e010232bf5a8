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
  {
    name: 'simulator, 2,000 seeds',
    command: ['npm', 'run', '--silent', 'sim', '--', '--seeds', '2000', '--from', '200'],
    counts: 'line',
    maxMinutes: 20,
  },
  {
    name: 'mutants, recorded and 20 fresh seeds',
    command: ['npm', 'run', '--silent', 'sim', '--', '--mutants', '--fresh', '20'],
    counts: 'line',
    maxMinutes: 15,
  },
  { name: 'demo', command: ['npm', 'run', '--silent', 'demo'], counts: 'one', maxMinutes: 5 },
]);
