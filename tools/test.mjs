/**
 * `npm test`: the gates, all tests, and what else a change must pass; one count line at the end.
 *
 * A further part is one more step here; it must print its own count line (`counts: 'line'`) or be one check.
 */
import { gates } from './gates.mjs';
import { runSteps } from './run-steps.mjs';

await runSteps([
  ...gates,
  { name: 'tests', command: ['npx', 'vitest', 'run'], counts: 'line', maxMinutes: 10 },
  {
    name: 'simulator, 200 seeds',
    command: ['npm', 'run', '--silent', 'sim', '--', '--seeds', '200'],
    counts: 'line',
    maxMinutes: 4,
  },
]);
