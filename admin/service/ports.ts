/** What the admin service takes from outside. */
import type { CachedFleetMap } from '../../fleet/cached-map.ts';
import type { Rights } from '../../fleet/rights.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Log } from '../../kernel/log.ts';
import type { Rng } from '../../kernel/rng.ts';
import type { CellDirectory } from '../moves/ports.ts';

export type AdminPorts = {
  readonly map: CachedFleetMap;
  readonly cells: CellDirectory;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly log: Log;
  /** Who may do what; undefined: everybody everything. */
  readonly rights: Rights | undefined;
  /** The orchestrator of this process: it drives what is commanded here at once. */
  readonly driverId: string;
};

/** The longest that a call of this service waits for map and cells, ms. */
export const ADMIN_DEADLINES = { mapMs: 5_000, cellMs: 3_000, verifyMs: 600_000 } as const;
