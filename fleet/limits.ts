/** The bounds of the fleet map (P11), each with the reason for its value. */

const DAY_MS = 24 * 60 * 60 * 1000;

export const FLEET_LIMITS = {
  /** Shorter than a day and a debugging session outlives the history that it looks at. */
  minRetentionMs: DAY_MS,
  /** 100 years: larger ones are typing errors, and stay far from the end of safe integers. */
  maxRetentionMs: 36_500 * DAY_MS,
  /** A name travels in a header of every call. */
  maxNameLength: 255,
  maxDescriptionLength: 10_000,
  maxOwnerEmailLength: 255,
  maxDataEntries: 100,
  maxDataLength: 10_000,
  /** Of one namespace: each may become a column of an index. */
  maxSearchAttributes: 100,
  /** The map is read and held as one document by every router and cell. */
  maxNamespaces: 10_000,
  maxCells: 1_000,
  maxShards: 65_536,
  /** Of one namespace, kept in the map: enough to see what happened last; reports and logs hold the rest. */
  maxMovesKept: 5,
  /** Cells that keep a copy: each costs the active one a lane. */
  maxReplicas: 5,
  /** Why a move ended, as kept in the map. */
  maxReasonLength: 300,
  /** Calls are held for as long: shorter than usual deadlines of clients, 10 s. */
  maxPauseMs: 9_000,
  minPauseMs: 100,
} as const;
