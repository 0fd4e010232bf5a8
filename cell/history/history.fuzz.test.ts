/**
 * Random lives of a workflow id: clients, two workers, clocks, owners that die. The lab checks every step; here the
 * histories that come out are judged, and whether what was acknowledged is in them.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkHistory } from './testing/grammar.ts';
import { Script } from './testing/script.ts';

const SEED = Number(process.env['FUZZ_SEED'] ?? 20_261);
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 150);

const id = fc.constantFrom('a', 'b', 'c');
const command = fc.oneof(
  { weight: 4, arbitrary: id.map((x) => `act ${x}`) },
  { weight: 2, arbitrary: id.map((x) => `act ${x} r`) },
  { weight: 3, arbitrary: fc.tuple(id, fc.nat(20)).map(([x, n]) => `timer ${x} ${n}`) },
  { weight: 2, arbitrary: id.map((x) => `untimer ${x}`) },
  { weight: 2, arbitrary: id.map((x) => `unact ${x}`) },
  { weight: 2, arbitrary: fc.constantFrom('mark m', 'memo', 'attr') },
  { weight: 1, arbitrary: fc.constantFrom('complete', 'fail Oops', 'canceling', 'child') },
);
const commands = fc.array(command, { maxLength: 3 }).map((list) => list.join('+'));
const hand = fc.constantFrom('', '2');
const startOptions = fc
  .record({
    id: fc.constantFrom('start-1', 's2', 's3'),
    conflict: fc.constantFrom(0, 1, 2, 3),
    reuse: fc.constantFrom(0, 1, 2, 3, 4),
    delay: fc.constantFrom(0, 0, 3),
    run: fc.constantFrom(0, 0, 30),
    execution: fc.constantFrom(0, 0, 60),
    retry: fc.constantFrom(1, 3),
  })
  .map((o) => Object.entries(o).map(([name, value]) => `${name}=${value}`));
const step = fc.oneof(
  { weight: 8, arbitrary: hand.map((h) => `poll${h}`) },
  { weight: 8, arbitrary: fc.tuple(hand, commands).map(([h, c]) => `done${h} ${c}`.trim()) },
  { weight: 3, arbitrary: commands.map((c) => `sticky ${c}`.trim()) },
  { weight: 3, arbitrary: commands.map((c) => `inline ${c}`.trim()) },
  { weight: 2, arbitrary: hand.map((h) => `failed${h}`) },
  { weight: 1, arbitrary: fc.constantFrom('beat', 'lost', 'crash', 'terminate') },
  { weight: 4, arbitrary: fc.constantFrom('signal s', 'signal s x', 'signal s y', 'signal s z') },
  { weight: 1, arbitrary: fc.constantFrom('cancel', 'cancel c') },
  {
    weight: 8,
    arbitrary: fc
      .tuple(fc.constantFrom('take', 'take', 'finish', 'break', 'canceled', 'hb'), id)
      .map((words) => words.join(' ')),
  },
  { weight: 4, arbitrary: fc.nat(15).map((n) => `wait ${n}`) },
  { weight: 1, arbitrary: startOptions.map((words) => ['start', ...words].join(' ')) },
);

const property = fc.property(fc.array(step, { minLength: 5, maxLength: 60 }), (steps) => {
  const script = new Script().run('start id=start-1 retry=2');
  let signals = 0;
  for (const one of steps) {
    if (!can(script, one)) continue;
    const known = /^signal s (.)$/u.exec(one)?.[1] ?? '';
    const fresh = !script.lab.ledger.has(known);
    script.step(one);
    if (one.startsWith('signal') && script.last === 'done' && fresh) signals += 1;
  }
  const acknowledged = signals + settle(script);
  const histories = [...script.lab.runs.keys()].map((runId) => script.lab.eventsOf(runId));
  for (const history of histories) checkHistory(history);
  const written = histories.flat().filter((event) => event.kind === 'WorkflowExecutionSignaled');
  expect(written).toHaveLength(acknowledged);
});

/** Steps whose actors have something to act on; late and doubled ones included. */
function can(script: Script, one: string): boolean {
  const [verb = '', name = ''] = one.split(' ');
  if (verb.startsWith('poll')) {
    const offer = script.lab.work.find((work) => work.kind === 'workflow-task');
    return offer !== undefined && offer.notBefore <= script.lab.now;
  }
  if (/^(done|failed|sticky|beat|inline)/u.test(verb))
    return script.holds(verb.endsWith('2') ? '2' : '');
  if (/^(take|finish|break|canceled|hb)$/u.test(verb)) return script.knows(name);
  return true;
}

/** Runs on with workers that complete whatever they get, until the run is closed: nothing may be stuck (P7). */
function settle(script: Script): number {
  const { lab } = script;
  let signals = 0;
  for (let turns = 0; lab.state.status === 1; turns += 1) {
    expect(turns).toBeLessThan(400);
    const offer = lab.work.find((work) => work.kind === 'workflow-task');
    const waiting = [...lab.state.activities.values()].find(
      (activity) => !activity.started && activity.scheduledAt <= lab.now,
    )?.scheduled.activityId;
    if (offer !== undefined && offer.notBefore <= lab.now) script.run('poll, done complete');
    else if (waiting) script.run(`take ${waiting}, finish ${waiting}`);
    else if (lab.work.length > 0) script.run('wait 5');
    else {
      // A run that waits for a signal has no work of its own.
      script.run('signal s');
      signals += 1;
    }
  }
  return signals;
}

test(`random lives leave right histories (seed ${SEED})`, () => {
  fc.assert(property, { seed: SEED, numRuns: RUNS });
}, 120_000);
