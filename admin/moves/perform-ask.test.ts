import { expect, it } from 'vitest';
import type { Move } from '../../fleet/move.ts';
import { AtollError } from '../../kernel/errors.ts';
import { silentLog } from '../../kernel/log.ts';
import { VirtualClock } from '../../kernel/testing/virtual-clock.ts';
import type { CellControl, VerifyReport } from '../../replication/control/control.ts';
import { NO_FACTS, type Facts } from './facts.ts';
import { performAsk } from './perform-ask.ts';
import type { MovePorts } from './ports.ts';
import { verify } from './verify.ts';

const move: Move = {
  ...{ id: 'm', kind: 'planned', from: 'east', to: 'west', fromEpoch: 1, startedAt: 0 },
  ...{ phase: 'verify', phaseSince: 0, maxPauseMs: 5_000, autoConfirm: false },
};

function report(differences: number): VerifyReport {
  return {
    compared: 9,
    equal: 9 - differences,
    different: [],
    differences,
    moving: 0,
    repaired: 0,
  };
}

/** The phase as it goes on while a comparison fails, or finds so many differences: what each one was asked to repair. */
async function rounds(answers: readonly ('fails' | number)[]): Promise<readonly boolean[]> {
  const asked: boolean[] = [];
  const control: Pick<CellControl, 'verify'> = {
    verify: async ({ repair }) => {
      const answer = answers[asked.push(repair) - 1];
      if (typeof answer === 'number') return report(answer);
      throw new AtollError('unavailable', 'a blink of the network');
    },
  };
  const ports: MovePorts = {
    ...{ clock: new VirtualClock(), log: silentLog, driverId: 'd', map: undefined as never },
    cells: { control: () => control as CellControl },
  };
  const { signal } = new AbortController();
  let facts: Facts = NO_FACTS;
  while (asked.length < answers.length) {
    const step = verify(facts);
    if (step.kind === 'wait') facts = { ...facts, verified: undefined };
    else if (step.kind === 'ask') {
      const about = { namespaceId: 'n', move, revision: 1, facts };
      facts = await performAsk(ports, { ask: step.ask, asked: about }, signal);
    } else break;
  }
  return asked;
}

it('repairs only after a comparison that found differences, not after one that failed', async () => {
  expect(await rounds(['fails', 'fails', 2, 'fails', 0])).toEqual([
    false,
    false,
    false,
    true,
    true,
  ]);
});
