import { expect, test } from 'vitest';
import { helpText, readOptions } from './options.ts';
import { SCENARIOS } from './scenarios/all.ts';

test('without flags all scenarios run three rounds of twenty seconds', () => {
  const asked = readOptions([], SCENARIOS);
  expect(asked).toMatchObject({
    kind: 'run',
    options: { rounds: 3, seconds: 20, warmupSeconds: 5, port: 0, scenarios: SCENARIOS },
  });
});

test('--only picks scenarios by name, in the order given', () => {
  const asked = readOptions(['--only', 'idle, seq10'], SCENARIOS);
  const names = asked.kind === 'run' ? asked.options.scenarios.map(({ name }) => name) : [];
  expect(names).toEqual(['idle', 'seq10']);
});

test.each([
  [['--only', 'nothing'], 'there is no such scenario (there are one-activity,'],
  [['--rounds', '0'], '--rounds 0: a whole number from 1'],
  [['--rounds', '1.5'], '--rounds 1.5: a whole number'],
  [['--seconds', 'ten'], '--seconds ten: a number from 1'],
  [['--seconds', ''], '--seconds : a number from 1'],
  [['--port', '65535'], '--port 65535: a whole number from 0 to 65534'],
  [['--faster'], "Unknown option '--faster'"],
])('%j is refused with what would do', (args, reason) => {
  const asked = readOptions(args, SCENARIOS);
  expect(asked.kind === 'wrong' ? asked.reason : asked.kind).toContain(reason);
});

test('help names every scenario and every flag', () => {
  expect(readOptions(['--only', 'idle', '-h'], SCENARIOS)).toEqual({ kind: 'help' });
  const help = helpText(SCENARIOS);
  for (const { name } of SCENARIOS) expect(help).toContain(`  ${name} `);
});
