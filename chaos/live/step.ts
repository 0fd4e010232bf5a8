/** The steps at which a process is killed, and the messages between the harness and a process that waits for it. */

/** A moment of the storage protocol (PROTOCOLS 1-3) at which a process reports and waits to be killed. */
export const STEPS = [
  /** The statement was sent and not answered. */
  'append in flight',
  /** The outcome came, `committed`, and was not handed on. */
  'append stored and not answered',
  /** The checkpoint statement was sent and not answered. */
  'checkpoint',
  /** A checkpoint that deleted log rows came back, and was not handed on. */
  'truncation',
  /** A range id was handed out; no takeover row was sent. */
  'takeover, claimed',
  /** The end of the log was read; the takeover row is about to be sent. */
  'takeover, row not sent',
  /** The takeover row is stored; its outcome was not handed on. */
  'takeover, row stored',
] as const;

export type Step = (typeof STEPS)[number];

/** Takeover counts as one step, however far it came. */
export function countedAs(step: Step): string {
  return step.startsWith('takeover') ? 'takeover' : step;
}

/** From the harness: stop at the next such step; `null`: at none, and go on where it waits at one. */
export type Arm = { readonly arm: string | null };

/** To the harness: the step is reached; this process waits there. */
export type Reached = { readonly reached: string };

/** Narrows a message of a child process. */
export function isReached(message: unknown): message is Reached {
  return typeof message === 'object' && message !== null && 'reached' in message;
}

/** Narrows a message of the harness. */
export function isArm(message: unknown): message is Arm {
  return typeof message === 'object' && message !== null && 'arm' in message;
}
