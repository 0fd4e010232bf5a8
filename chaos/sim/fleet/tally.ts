/** What a fleet's campaign counts beside the one-cell counts (../tally.ts): its own faults, what moves came to, and its own checks. */

export const FLEET_FAULTS = [
  'cell crash',
  'cell crash under an append',
  'orchestrator crash',
  'cells cut one way',
  'map cut one way',
  'orchestrator cut one way',
  'control plane away',
  'message lost',
  'answer lost',
  'message doubled',
  'message late',
  'slow lane',
  'compare-and-set late',
  'watch late',
  'map saved late',
  'started without the map',
  'clock skewed',
  'clock jump',
  'flip late, aborted meanwhile',
  'flip unseen',
  'started by the map from before a flip',
  'failover there and back',
] as const;
export type FleetFault = (typeof FLEET_FAULTS)[number];

/** How moves ended, and what else was asked of the fleet. */
export const FLEET_ACTS = [
  'confirmed',
  'rolled-back',
  'aborted',
  'failed-over',
  'overtaken',
  'switched-back',
  'call held',
  'call sent to the wrong cell',
] as const;
export type FleetAct = (typeof FLEET_ACTS)[number];

export const FLEET_CHECKS = [
  'P1 inputs of losing branches',
  'P2 transitions by epoch',
  'P3 runs by workflow id',
  'P4 starts of one attempt by epoch',
  'P5 requests without a forced failover',
  'P5 transitions before a flip',
  'P6 digests',
  'P9 branches that gave way',
  'P9 signals called undeliverable',
  'P9 transitions that lost',
  'P9 transitions that lasted',
] as const;
export type FleetCheck = (typeof FLEET_CHECKS)[number];
