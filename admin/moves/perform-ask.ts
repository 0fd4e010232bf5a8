/** Asks a cell what a step wants to know, within its deadline, and keeps the answer as a fact. */
import type { Move } from '../../fleet/move.ts';
import { withDeadline } from '../../kernel/deadline.ts';
import { toAtollError } from '../../kernel/errors.ts';
import type { Answer, Ask, Facts } from './facts.ts';
import { MOVE_DEADLINES, type MovePorts } from './ports.ts';

export type Asked = {
  readonly namespaceId: string;
  readonly move: Move;
  /** The newest map revision known, which holds the move as it is here. */
  readonly revision: number;
  readonly facts: Facts;
};

/** The facts with the answer in them. Throws only when `signal` has aborted. */
export async function performAsk(
  ports: MovePorts,
  { ask, asked }: { readonly ask: Ask; readonly asked: Asked },
  signal: AbortSignal,
): Promise<Facts> {
  const { facts } = asked;
  const { move, namespaceId, revision } = asked;
  const source = ports.cells.control(move.from);
  const target = ports.cells.control(move.to);
  const call = <Value>(run: (inTime: AbortSignal) => Promise<Value>, timeoutMs: number) =>
    answer(ports, { what: `${ask.kind} for move ${move.id}`, timeoutMs, run }, signal);
  const limit = (ms: number) => withinPause(ms, asked);
  switch (ask.kind) {
    case 'lane': {
      const to = { namespaceId, target: move.to };
      const lane = await call((s) => source.lane(to, s), limit(MOVE_DEADLINES.laneMs));
      return counted({ ...facts, lane }, lane);
    }
    case 'reverse': {
      const back = { namespaceId, target: move.from };
      const reverse = await call((s) => target.lane(back, s), MOVE_DEADLINES.laneMs);
      return counted({ ...facts, reverse }, reverse);
    }
    case 'verify': {
      const { repair, changed } = ask;
      const against = { namespaceId, against: move.to, repair, changed };
      const ms = limit(MOVE_DEADLINES.verifyMs);
      const verified = await call((s) => source.verify(against, s), ms);
      const rounds = facts.rounds + (verified.kind === 'answered' ? 1 : 0);
      return counted({ ...facts, verified, rounds }, verified);
    }
    case 'gate': {
      const gate = { namespaceId, moveId: move.id, revision };
      const barriers = await call((s) => source.gate(gate, s), limit(MOVE_DEADLINES.gateMs));
      return counted({ ...facts, barriers }, barriers);
    }
    case 'observe-target':
    case 'observe-source': {
      const cell = ask.kind === 'observe-target' ? target : source;
      const observe = (s: AbortSignal) =>
        cell.observe({ namespaceId, revision }, s).then(() => 'observed' as const);
      const observed = await call(observe, MOVE_DEADLINES.observeMs);
      const name = ask.kind === 'observe-target' ? 'target' : 'source';
      return counted({ ...facts, [name]: observed }, observed);
    }
  }
}

/** In a handover nothing may take longer than it may still last. */
function withinPause(ms: number, { move, facts }: Asked): number {
  return move.phase === 'handover'
    ? Math.min(ms, Math.max(1, move.maxPauseMs - facts.phaseMs))
    : ms;
}

function counted(facts: Facts, outcome: Answer<unknown>): Facts {
  return { ...facts, failures: outcome.kind === 'failed' ? facts.failures + 1 : 0 };
}

async function answer<Value>(
  ports: MovePorts,
  call: {
    readonly what: string;
    readonly timeoutMs: number;
    readonly run: (signal: AbortSignal) => Promise<Value>;
  },
  parent: AbortSignal,
): Promise<Answer<Value>> {
  try {
    const value = await withDeadline(ports.clock, { ...call, parent }, call.run);
    return { kind: 'answered', value };
  } catch (thrown) {
    parent.throwIfAborted();
    const { code, message } = toAtollError(thrown);
    return { kind: 'failed', code, message };
  }
}
