/** What drives moves takes from outside. */
import type { CachedFleetMap } from '../../fleet/cached-map.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Log } from '../../kernel/log.ts';
import type { CellControl } from '../../replication/control/control.ts';

/** The cells of the fleet by id. A cell that is away answers `unavailable` call by call. */
export interface CellDirectory {
  control(cell: string): CellControl;
}

export type MovePorts = {
  readonly map: Pick<CachedFleetMap, 'map' | 'update' | 'refresh' | 'onChange'>;
  readonly cells: CellDirectory;
  readonly clock: Clock;
  readonly log: Log;
  /** This orchestrator among all; new at each start of a process. */
  readonly driverId: string;
};

/** The longest that each call may take, ms. */
export const MOVE_DEADLINES = {
  mapMs: 5_000,
  laneMs: 2_000,
  gateMs: 3_000,
  observeMs: 3_000,
  /** Every execution of a namespace is read and compared. */
  verifyMs: 600_000,
} as const;
