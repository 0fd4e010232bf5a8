/**
 * Looks for moves that nobody drives and drives them (D10). Any number of orchestrators may run, in any processes: the
 * driver in the map says whose a move is, and a driver whose beat has not changed for a lease is followed by another.
 *
 * Invariants
 *  1. That two drive the same move for a while does no harm: what decides are compare-and-sets of the map. The lease only
 *     saves work.
 *  2. A lease is measured by the watcher's own monotonic clock: no clock of another machine is believed.
 */
import { beatMove, claimMove, releaseMove, type MoveRef } from '../../fleet/move-changes.ts';
import { moveById, runningMove, type Move, type MoveDriver } from '../../fleet/move.ts';
import type { Change } from '../../fleet/table.ts';
import type { FleetMap } from '../../fleet/map.ts';
import { sleep, type CancelAlarm } from '../../kernel/clock.ts';
import { withDeadline } from '../../kernel/deadline.ts';
import { AtollError, toAtollError } from '../../kernel/errors.ts';
import { driveMove } from './drive-move.ts';
import { MOVE_DEADLINES, type MovePorts } from './ports.ts';

export type OrchestratorConfig = {
  /** A driver that has been silent for so long is followed by another. */
  readonly leaseMs: number;
  /** Between signs of life; each is a change of the map. */
  readonly beatMs: number;
  /** The same while calls are held: shorter, since callers wait for who follows. */
  readonly heldLeaseMs: number;
  readonly heldBeatMs: number;
  /** Between looks at the map without a notice. */
  readonly lookMs: number;
  /** Moves driven at once. */
  readonly maxDriven: number;
};

export const ORCHESTRATOR_CONFIG: OrchestratorConfig = {
  leaseMs: 3_000,
  beatMs: 900,
  heldLeaseMs: 1_500,
  heldBeatMs: 400,
  lookMs: 500,
  maxDriven: 100,
};

type Driving = { readonly stop: AbortController; readonly ended: Promise<void> };
type Seen = { readonly driver: MoveDriver; readonly sinceMs: number };

export class Orchestrator {
  readonly #ports: MovePorts;
  readonly #config: OrchestratorConfig;
  readonly #driving = new Map<string, Driving>();
  /** Beats of others, since when; at most one per running move. */
  readonly #seen = new Map<string, Seen>();
  #cancelLook: CancelAlarm = () => {};
  #unwatch: () => void = () => {};
  #closed = false;

  constructor(ports: MovePorts, config: Partial<OrchestratorConfig> = {}) {
    this.#ports = ports;
    this.#config = { ...ORCHESTRATOR_CONFIG, ...config };
  }

  get driverId(): string {
    return this.#ports.driverId;
  }

  /** Begins to look for moves. */
  start(): void {
    this.#unwatch = this.#ports.map.onChange(() => this.#look());
    this.#lookAgain();
    this.#look();
  }

  /** Stops; another may go on at once with what was driven here. */
  async close(): Promise<void> {
    const refs = this.#stop();
    await Promise.all([...this.#driving.values()].map((one) => one.ended));
    await Promise.all(refs.map((ref) => this.#release(ref)));
  }

  /** Stops as a process that is killed does: nothing is given back. */
  kill(): void {
    this.#stop();
  }

  #stop(): readonly MoveRef[] {
    this.#closed = true;
    this.#unwatch();
    this.#cancelLook();
    for (const { stop } of this.#driving.values()) stop.abort(stopped());
    return [...this.#driving.keys()].map(refOf);
  }

  #lookAgain(): void {
    this.#cancelLook = this.#ports.clock.after(this.#config.lookMs, () => {
      this.#look();
      if (!this.#closed) this.#lookAgain();
    });
  }

  /** Takes what is free, its own from before, or left by a silent driver. */
  #look(): void {
    if (this.#closed) return;
    const running = runningMoves(this.#ports.map.map);
    const keys = new Set(running.map(({ ref }) => keyOf(ref)));
    for (const key of this.#seen.keys()) if (!keys.has(key)) this.#seen.delete(key);
    for (const { ref, move } of running) {
      const key = keyOf(ref);
      if (this.#driving.has(key) || this.#driving.size >= this.#config.maxDriven) continue;
      const { driver } = move;
      const free = driver === undefined || driver.id === this.driverId;
      if (free || this.#isSilent(key, move, driver)) this.#drive(ref, driver);
    }
  }

  #isSilent(key: string, move: Move, driver: MoveDriver): boolean {
    const { leaseMs, heldLeaseMs } = this.#config;
    const nowMs = this.#ports.clock.monotonicMs();
    const seen = this.#seen.get(key);
    if (seen?.driver.id !== driver.id || seen.driver.beat !== driver.beat) {
      this.#seen.set(key, { driver, sinceMs: nowMs });
      return false;
    }
    return nowMs - seen.sinceMs >= (holdsCalls(move) ? heldLeaseMs : leaseMs);
  }

  #drive(ref: MoveRef, seen: MoveDriver | undefined): void {
    const key = keyOf(ref);
    const stop = new AbortController();
    const ended = this.#claimAndDrive(ref, seen, stop)
      .catch((thrown: unknown) => {
        const why = toAtollError(thrown).message;
        this.#ports.log.debug({ move: ref.moveId, why }, 'no longer driven here');
      })
      .finally(() => {
        stop.abort(stopped());
        this.#driving.delete(key);
      });
    this.#driving.set(key, { stop, ended });
  }

  async #claimAndDrive(
    ref: MoveRef,
    seen: MoveDriver | undefined,
    stop: AbortController,
  ): Promise<void> {
    const driver = this.driverId;
    await this.#update((map) => claimMove(map, { ...ref, driver, seen }), stop.signal);
    let note: string | undefined;
    const beating = this.#beat(ref, stop, () => note);
    const onNote = (next: string | undefined) => (note = next);
    try {
      await driveMove(this.#ports, ref, { signal: stop.signal, onNote });
    } finally {
      stop.abort(stopped());
      await beating;
    }
  }

  /** Signs of life beside the driving, which may wait long for a cell. Lost: the driving ends. */
  async #beat(ref: MoveRef, stop: AbortController, note: () => string | undefined): Promise<void> {
    const { signal } = stop;
    while (!signal.aborted) {
      try {
        await sleep(this.#ports.clock, this.#beatMs(ref), signal);
        const asked = { ...ref, driver: this.driverId, note: note() };
        await this.#update((map) => beatMove(map, asked), signal);
      } catch (thrown) {
        if (isLost(toAtollError(thrown))) stop.abort(thrown);
      }
    }
  }

  #beatMs({ namespaceId, moveId }: MoveRef): number {
    const namespace = this.#ports.map.map.namespaces[namespaceId];
    const move = namespace === undefined ? undefined : moveById(namespace, moveId);
    const { beatMs, heldBeatMs } = this.#config;
    return move !== undefined && holdsCalls(move) ? heldBeatMs : beatMs;
  }

  async #release(ref: MoveRef): Promise<void> {
    const asked = { ...ref, driver: this.driverId };
    const never = new AbortController().signal;
    await this.#update((map) => releaseMove(map, asked), never).catch(() => {});
  }

  async #update(change: (map: FleetMap) => Change, parent: AbortSignal): Promise<void> {
    const { clock, map } = this.#ports;
    const options = { what: 'changing a move', timeoutMs: MOVE_DEADLINES.mapMs, parent };
    await withDeadline(clock, options, (signal) => map.update(change, signal));
  }
}

/** From the handover until a cell acts again. */
function holdsCalls({ phase }: Move): boolean {
  return phase === 'handover' || phase === 'release' || phase === 'reopen';
}

/** The map says that the move is not this driver's, or is not there. */
function isLost(error: AtollError): boolean {
  return ['aborted', 'failed-precondition', 'not-found'].includes(error.code);
}

function runningMoves(map: FleetMap): readonly { readonly ref: MoveRef; readonly move: Move }[] {
  return Object.values(map.namespaces).flatMap((namespace) => {
    const move = runningMove(namespace);
    if (move === undefined) return [];
    return [{ ref: { namespaceId: namespace.id, moveId: move.id }, move }];
  });
}

function keyOf({ namespaceId, moveId }: MoveRef): string {
  return `${namespaceId} ${moveId}`;
}

function refOf(key: string): MoveRef {
  const [namespaceId = '', moveId = ''] = key.split(' ');
  return { namespaceId, moveId };
}

function stopped(): AtollError {
  return new AtollError('cancelled', 'this orchestrator no longer drives the move');
}
