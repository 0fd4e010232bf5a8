/** Looks at the lanes of cell a to cell b all the while, and at how idle the machine is. */
import { cpus } from 'node:os';
import { join } from 'node:path';
import { loadKeyRing } from '../../bin/token-keys.ts';
import { CachedFleetMap } from '../../fleet/cached-map.ts';
import { FileFleetMap } from '../../fleet/file/fleet-map.ts';
import { fileLastKnownMap } from '../../fleet/file/last-known-map.ts';
import { sleep, systemClock } from '../../kernel/clock.ts';
import { silentLog } from '../../kernel/log.ts';
import { systemRng } from '../../kernel/rng.ts';
import type { LaneStatus } from '../../replication/control/control.ts';
import { CellControlClient } from '../../replication/control/cell-control-client.ts';
import { CellCalls } from '../../replication/rpc/cell-calls.ts';

const LOOK_MS = 20;
const ASK_MS = 10_000;

/** What was seen of one lane between two moments. */
export type Seen = {
  /** Age of the oldest step that was not acknowledged, at each look; ms, sorted. */
  readonly lagsMs: readonly number[];
  readonly first: LaneStatus;
  readonly last: LaneStatus;
  /** Share of the machine that nobody used. */
  readonly idle: number;
  readonly seconds: number;
};

export class LaneWatch {
  readonly #control: CellControlClient;
  readonly #end: () => Promise<void>;

  private constructor(control: CellControlClient, end: () => Promise<void>) {
    this.#control = control;
    this.#end = end;
  }

  /** @param fleet folder of the fleet map and its keys */
  static async open(fleet: string): Promise<LaneWatch> {
    const shared = { clock: systemClock, rng: systemRng, log: silentLog };
    const store = await FileFleetMap.open(fleet, shared);
    const lastKnown = fileLastKnownMap(join(fleet, 'last-known-gameday.json'), systemRng);
    const map = await CachedFleetMap.open({ ...shared, store, lastKnown });
    const tokens = await loadKeyRing(fleet, systemRng);
    const caller = { role: 'admin', name: 'gameday' } as const;
    const calls = new CellCalls({ caller, map, tokens, clock: systemClock });
    return new LaneWatch(new CellControlClient('a', calls), async () => {
      calls.close();
      await map.close();
    });
  }

  status(namespaceId: string): Promise<LaneStatus> {
    return this.#control.lane({ namespaceId, target: 'b' }, AbortSignal.timeout(ASK_MS));
  }

  /** Looks at a lane for so long. */
  async during(namespaceId: string, ms: number): Promise<Seen> {
    const first = await this.status(namespaceId);
    const [beganMs, before] = [systemClock.monotonicMs(), cpuTimes()];
    const lagsMs: number[] = [];
    let last = first;
    while (systemClock.monotonicMs() < beganMs + ms) {
      last = await this.status(namespaceId);
      lagsMs.push(last.lagMs);
      await sleep(systemClock, LOOK_MS);
    }
    const after = cpuTimes();
    const idle = (after.idle - before.idle) / (after.all - before.all);
    const seconds = (systemClock.monotonicMs() - beganMs) / 1_000;
    return { lagsMs: lagsMs.toSorted((x, y) => x - y), first, last, idle, seconds };
  }

  close(): Promise<void> {
    return this.#end();
  }
}

export function p99(sorted: readonly number[]): number {
  return sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN;
}

function cpuTimes(): { readonly idle: number; readonly all: number } {
  const times = cpus().map((cpu) => cpu.times);
  const idle = times.reduce((sum, one) => sum + one.idle, 0);
  const all = times.reduce((sum, t) => sum + t.user + t.nice + t.sys + t.irq + t.idle, 0);
  return { idle, all };
}
