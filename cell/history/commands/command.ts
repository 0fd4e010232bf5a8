/** What the files of the single commands share: what they may know, and what they answer. */
import type { ActivityStartedReply, Step } from '../decision.ts';
import type { BadCommand } from '../draft-change.ts';
import type { RunInput } from '../input.ts';

/** What a command may know of the task that sent it. */
export type CommandContext = {
  readonly completedEventId: number;
  readonly input: Extract<RunInput, { kind: 'complete-workflow-task' }>;
};

/**
 * `next`: steps of other runs that belong to the same decision (the run that follows a retry).
 * `started`: activities that were started for the polls that came with the task.
 */
export type CommandsOutcome =
  | {
      readonly kind: 'ok';
      readonly next?: readonly Step[];
      readonly started?: readonly ActivityStartedReply[];
    }
  | BadCommand;
