/**
 * A fault wrapper round what an orchestrator sees: reports a step of a move and waits there, to be killed or to be let go
 * while something else was killed.
 *
 * Place: loaded by admin-main.ts only, between orchestrator, fleet map and cells. Shipped code has no switch for it.
 *
 * Invariants
 *  1. Unarmed it changes nothing: every call goes through, every answer comes back.
 *  2. An armed step is reported once. The call that reached it waits until something else, or nothing, is armed; other calls
 *     go on.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MovePorts } from '../../../admin/moves/ports.ts';
import type { FleetMap } from '../../../fleet/map.ts';
import { runningMove, type Move } from '../../../fleet/move.ts';
import type { Change } from '../../../fleet/table.ts';
import type { CellControl } from '../../../replication/control/control.ts';
import type { MoveStep } from './move-step.ts';

type Seen = Pick<MovePorts, 'map' | 'cells'>;
type Point = { readonly move: Move | undefined; readonly what: string };

export class MoveFault {
  readonly #report: (step: MoveStep) => void;
  #armed: MoveStep | undefined;
  #letGo: () => void = () => {};

  /** @param report tells the harness that the step is reached */
  constructor(report: (step: MoveStep) => void) {
    this.#report = report;
  }

  /** Stops at the next such step; undefined: at none. Whatever waits goes on. */
  arm(step: MoveStep | undefined): void {
    this.#armed = step;
    this.#letGo();
  }

  /** Map and cells with this fault round them. */
  wrap({ map, cells }: Seen): Seen {
    const moveOf = (namespaceId: string) => {
      const namespace = map.map.namespaces[namespaceId];
      return namespace === undefined ? undefined : runningMove(namespace);
    };
    return {
      map: {
        get map() {
          return map.map;
        },
        refresh: () => map.refresh(),
        onChange: (listener) => map.onChange(listener),
        update: async (change, signal) => {
          await this.#at(stepOfChange(map.map, change));
          return map.update(change, signal);
        },
      },
      cells: {
        control: (cell) => this.#control(cells.control(cell), { cell, moveOf }),
      },
    };
  }

  #control(
    inner: CellControl,
    of: { readonly cell: string; readonly moveOf: (namespaceId: string) => Move | undefined },
  ): CellControl {
    const { cell, moveOf } = of;
    const point = (what: string, { namespaceId }: { readonly namespaceId: string }): Point => {
      return { move: moveOf(namespaceId), what };
    };
    const side = ({ move }: Point) => (move?.to === cell ? 'target' : 'source');
    return {
      estimateLoss: (ask, signal) => inner.estimateLoss(ask, signal),
      lossReport: (ask, signal) => inner.lossReport(ask, signal),
      gate: (ask, signal) => this.#round(point('gate', ask), () => inner.gate(ask, signal)),
      verify: (ask, signal) => this.#round(point('verify', ask), () => inner.verify(ask, signal)),
      lane: (ask, signal) => {
        const there = point('lane', ask);
        const at = side(there) === 'target' ? { ...there, what: 'lane back' } : there;
        return this.#round(at, () => inner.lane(ask, signal));
      },
      observe: (ask, signal) => {
        const at = point('observe', ask);
        const what = `observe ${side(at)}`;
        return this.#round({ ...at, what }, () => inner.observe(ask, signal));
      },
    };
  }

  /** Before the call, and while it is out. */
  async #round<Answer>({ move, what }: Point, call: () => Promise<Answer>): Promise<Answer> {
    const step = `${move?.phase ?? ''}: ${what}`;
    await this.#at(step);
    if (this.#armed !== `${step} in flight`) return call();
    const answer = call();
    answer.catch(() => {});
    await nextTurn();
    await this.#at(`${step} in flight`);
    return answer;
  }

  async #at(step: string | undefined): Promise<void> {
    const armed = this.#armed;
    if (armed === undefined || armed !== step) return;
    this.#armed = undefined;
    this.#report(armed);
    await new Promise<void>((resolve) => (this.#letGo = resolve));
  }
}

/** `seed to tail`; undefined for a change that leaves the phase, such as a sign of life. */
function stepOfChange(map: FleetMap, change: (map: FleetMap) => Change): string | undefined {
  const next = change(map);
  if (next.kind !== 'changed') return undefined;
  for (const [id, namespace] of Object.entries(map.namespaces)) {
    const before = runningMove(namespace);
    if (before === undefined) continue;
    const after = next.map.namespaces[id]?.moves?.find((move) => move.id === before.id);
    if (after && after.phase !== before.phase) return `${before.phase} to ${after.phase}`;
  }
  return undefined;
}
