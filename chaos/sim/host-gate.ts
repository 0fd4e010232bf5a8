/**
 * The door between a simulated host and the world: whatever would run code of the host comes through here, so that a
 * host can be stopped (SIGSTOP), go on late, or be gone for good.
 *
 * Invariants
 *  1. While asleep nothing of the host runs; what came meanwhile runs at waking, in the order of coming.
 *  2. Once dead nothing of the host ever runs again.
 */
import type { CancelAlarm, Clock, EpochMs } from '../../kernel/clock.ts';
import type { WorldTime } from './world-time.ts';

type State = 'awake' | 'asleep' | 'dead';

export class HostGate implements Clock {
  readonly #time: WorldTime;
  #wallOffsetMs: number;
  #state: State = 'awake';
  #waiting: (() => void)[] = [];
  readonly #onDeath = new Set<() => void>();

  /** @param wallOffsetMs how far this host's wall clock is off */
  constructor(time: WorldTime, wallOffsetMs: number) {
    this.#time = time;
    this.#wallOffsetMs = wallOffsetMs;
  }

  get state(): State {
    return this.#state;
  }

  now(): EpochMs {
    return this.#time.now() + this.#wallOffsetMs;
  }

  monotonicMs(): number {
    return this.#time.monotonicMs();
  }

  after(delayMs: number, alarm: () => void): CancelAlarm {
    let cancelled = false;
    const cancel = this.#time.after(delayMs, () =>
      this.enter(() => {
        if (!cancelled) alarm();
      }),
    );
    return () => {
      cancelled = true;
      cancel();
    };
  }

  /** How far its wall clock is off. */
  get wallOffsetMs(): number {
    return this.#wallOffsetMs;
  }

  jumpWallBy(deltaMs: number): void {
    this.#wallOffsetMs += deltaMs;
  }

  /** Runs code of the host: now, at waking, or never. */
  enter(action: () => void): void {
    if (this.#state === 'awake') action();
    else if (this.#state === 'asleep') this.#waiting.push(action);
  }

  /** The outcome of something outside, as the host hears of it. */
  hear<Result>(outcome: Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      outcome.then(
        (value) => this.enter(() => resolve(value)),
        (error: Error) => this.enter(() => reject(error)),
      );
    });
  }

  sleep(): void {
    if (this.#state === 'awake') this.#state = 'asleep';
  }

  wake(): void {
    if (this.#state !== 'asleep') return;
    this.#state = 'awake';
    const waiting = this.#waiting;
    this.#waiting = [];
    // Each in a turn of its own, as a process that goes on would find them; a second sleep holds the rest again.
    for (const action of waiting) this.#time.after(0, () => this.enter(action));
  }

  die(): void {
    if (this.#state === 'dead') return;
    this.#state = 'dead';
    this.#waiting = [];
    for (const told of this.#onDeath) told();
    this.#onDeath.clear();
  }

  /** Calls back when the host dies. Returns the unsubscribe function. */
  onDeath(told: () => void): () => void {
    this.#onDeath.add(told);
    return () => void this.#onDeath.delete(told);
  }
}

/** A port of the outside as the host has it: every answer comes through the gate. */
export function throughGate<Port extends object>(gate: HostGate, port: Port): Port {
  return new Proxy(port, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) =>
        gate.hear(Reflect.apply(member, target, args) as Promise<unknown>);
    },
  });
}
