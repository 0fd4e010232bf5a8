/**
 * What `.ci/run` runs in a fresh clone, in order. Its last line is `N passed, N failed, N skipped`.
 *
 * Place: extended by whoever adds a part that a release must pass; each step is a command that a person would
 * type too. All steps together end within 40 minutes on two cores.
 */
import { runSteps } from './run-steps.mjs';

const SIM = ['npm', 'run', '--silent', 'sim', '--'];
const TWO_CORES = ['--jobs', '2'];

await runSteps([
  { name: 'install', command: ['npm', 'ci'], counts: 'one', maxMinutes: 5, required: true },
  { name: 'npm test', command: ['npm', 'test'], counts: 'line', maxMinutes: 14 },
  {
    name: 'simulator of one cell, 2,000 seeds',
    command: [...SIM, '--seeds', '2000', '--from', '200', ...TWO_CORES],
    counts: 'line',
    maxMinutes: 20,
  },
  {
    name: 'simulator of a fleet, 2,000 seeds',
    command: [...SIM, '--fleet', '--seeds', '2000', '--from', '200', ...TWO_CORES],
    counts: 'line',
    maxMinutes: 20,
  },
  {
    name: 'mutants, recorded and 100 fresh seeds',
    command: [...SIM, '--mutants', '--fresh', '100', ...TWO_CORES],
    counts: 'line',
    maxMinutes: 20,
  },
  { name: 'demo', command: ['npm', 'run', '--silent', 'demo'], counts: 'one', maxMinutes: 5 },
]);
