import { describe, expect, test } from 'vitest';
import { ACTIONS, allowedEndings, mayFailCalls, nameOf, planCases } from './cases.ts';
import { MOVE_STEPS } from './move-step.ts';

describe('the plan of kills during moves', () => {
  const cases = planCases();

  test('holds every action at every step, but no abort of an aborted move', () => {
    const seen = new Set(cases.map(({ step, action }) => `${step} × ${action}`));
    const all = MOVE_STEPS.flatMap((step) => ACTIONS.map((action) => `${step} × ${action}`));
    expect(all.filter((one) => !seen.has(one))).toEqual(['reopen: observe source × abort']);
    expect(new Set(cases.map(nameOf)).size).toBe(cases.length);
  });

  const rows = `
    seed: lane                | abort             | as it was         | none fails
    seed: lane                | kill orchestrator | as it was or moved | none fails
    verify: verify            | kill source       | as it was or moved | may fail
    reverse: lane back        | kill target       | as it was or moved | none fails
    handover: gate            | abort             | as it was         | none fails
    handover: lane            | kill source       | as it was or moved | may fail
    handover: lane            | kill target       | as it was or moved | none fails
    handover to release       | abort             | as it was         | none fails
    handover to release       | kill target       | as it was or moved | may fail
    release: observe target   | abort             | moved             | none fails
    release: observe target   | kill source       | moved             | none fails
    release: observe target   | kill target       | moved             | may fail
    reopen: observe source    | kill source       | as it was         | may fail
    reopen: observe source    | kill target       | as it was         | none fails`;

  test.each(
    rows
      .trim()
      .split('\n')
      .map((row) => row.split('|').map((cell) => cell.trim())),
  )('%s × %s: %s, %s', (step, action, endings, calls) => {
    const one = cases.find((each) => each.step === step && each.action === action);
    if (one === undefined) throw new Error('no such case');
    expect(allowedEndings(one).join(' or ')).toBe(endings);
    expect(mayFailCalls(one) ? 'may fail' : 'none fails').toBe(calls);
  });
});
