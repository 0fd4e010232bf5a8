/** The moments of a planned move (admin/moves) at which its orchestrator reports and waits. */

export const MOVE_STEPS = [
  'seed: lane',
  'seed to tail',
  'tail: lane',
  'tail to verify',
  'verify: verify',
  'verify: verify in flight',
  'verify to reverse',
  'reverse: lane back',
  'reverse: verify in flight',
  'reverse to handover',
  /** The map says handover: routers hold. No gate is asked for yet. */
  'handover: gate',
  'handover: gate in flight',
  /** All gates are closed. */
  'handover: lane',
  /** The target has applied all up to the gates. */
  'handover: verify',
  'handover: verify in flight',
  /** The flip is decided, and not sent. */
  'handover to release',
  /** The flip is durable, and nobody was told. */
  'release: observe target',
  'release: observe target in flight',
  'release: observe source',
  'release to settled',
  'settled to finished',
  /** Rolled back, and the source was not told. */
  'reopen: observe source',
] as const;

export type MoveStep = (typeof MOVE_STEPS)[number];

/** The target is only just becoming a replica: the case begins without one, so that there is something to copy. */
export function isSeeding(step: MoveStep): boolean {
  return step.startsWith('seed') || step.startsWith('tail: ');
}

/** From here on the target may become active, whoever is killed. */
export function isFlipDecided(step: MoveStep): boolean {
  return MOVE_STEPS.indexOf(step) >= MOVE_STEPS.indexOf('handover: verify in flight');
}

/** The target is active. */
export function isFlipped(step: MoveStep): boolean {
  return step !== 'reopen: observe source' && MOVE_STEPS.indexOf(step) > FLIP;
}

/** Routers hold calls. */
export function isHandover(step: MoveStep): boolean {
  return step.startsWith('handover');
}

const FLIP = MOVE_STEPS.indexOf('handover to release');
