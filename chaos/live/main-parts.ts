/**
 * What the mains of this folder share: the ready line, the end of the harness, and the step fault on the channel.
 *
 * Place: in the processes that the harness starts, never in shipped code.
 */
import { MoveFault } from './moves/move-fault.ts';
import { MOVE_STEPS } from './moves/move-step.ts';
import { StepFault } from './step-fault.ts';
import { isArm, STEPS, type Reached } from './step.ts';

/** Prints a ready line: the harness reads it. */
export function tellReady(fields: object): void {
  process.stdout.write(`${JSON.stringify({ msg: 'ready', ...fields })}\n`);
}

/** Stops this process in order when the harness is gone, as on SIGTERM. */
export function endWithHarness(): void {
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
}

/** The same of a move's steps. */
export function moveFaultFromHarness(): MoveFault {
  const fault = new MoveFault((step) => process.send?.({ reached: step } satisfies Reached));
  process.on('message', (message) => {
    if (isArm(message)) fault.arm(MOVE_STEPS.find((step) => step === message.arm));
  });
  return fault;
}

/** A step fault that the harness arms over the channel, or at start with `arm`. */
export function faultFromHarness(arm: string | undefined): StepFault {
  const fault = new StepFault((step) => process.send?.({ reached: step } satisfies Reached));
  process.on('message', (message) => {
    if (isArm(message)) fault.arm(STEPS.find((step) => step === message.arm));
  });
  fault.arm(STEPS.find((step) => step === arm));
  return fault;
}
