/**
 * Commands that this server does not carry out yet: the workflow task fails with the closest cause and says so, and
 * the run waits for a worker that does without.
 */
import { WorkflowTaskFailedCause } from '../../../wire/enums.ts';
import type { CommandKind } from '../../../wire/event-kinds.ts';
import type { Command } from '../../../wire/events.ts';
import { badCommand, type BadCommand } from '../draft-change.ts';

const CAUSE: { readonly [Kind in CommandKind]?: WorkflowTaskFailedCause } = {
  RequestCancelExternalWorkflowExecution:
    WorkflowTaskFailedCause.BadRequestCancelExternalWorkflowExecutionAttributes,
  ContinueAsNewWorkflowExecution: WorkflowTaskFailedCause.BadContinueAsNewAttributes,
  StartChildWorkflowExecution: WorkflowTaskFailedCause.BadStartChildExecutionAttributes,
  SignalExternalWorkflowExecution: WorkflowTaskFailedCause.BadSignalWorkflowExecutionAttributes,
  ProtocolMessage: WorkflowTaskFailedCause.BadUpdateWorkflowExecutionMessage,
  ScheduleNexusOperation: WorkflowTaskFailedCause.BadScheduleNexusOperationAttributes,
  RequestCancelNexusOperation: WorkflowTaskFailedCause.BadRequestCancelNexusOperationAttributes,
};

export function notYet(command: Command): BadCommand {
  return badCommand(
    CAUSE[command.kind] ?? WorkflowTaskFailedCause.UnhandledCommand,
    `the command ${command.kind} is not supported yet by this server`,
  );
}
