/**
 * Commands of a worker as our tagged union.
 * Place: the frontend's RespondWorkflowTaskCompleted, between the decoded request and `decide`.
 */
import type { temporal } from '@temporalio/proto';
import { AtollError } from '../kernel/errors.ts';
import { COMMAND_TYPE, type CommandKind } from './event-kinds.ts';
import type { Command } from './events.ts';
import type { Plain } from './plain.ts';

export type WireCommand = Plain<temporal.api.command.v1.ICommand>;

const KINDS = new Map(
  Object.entries(COMMAND_TYPE).map(([kind, type]) => [type, kind as CommandKind]),
);

/** @throws AtollError `invalid-argument` for a command of a type that the contract does not name */
export function fromWireCommand(wire: WireCommand): Command {
  const kind = KINDS.get((wire.commandType ?? 0) as never);
  if (kind === undefined) {
    throw new AtollError('invalid-argument', `unknown command type ${wire.commandType ?? 0}`);
  }
  const attributes =
    (wire as Readonly<Record<string, unknown>>)[commandAttributesField(kind)] ?? {};
  const { userMetadata } = wire;
  return { kind, attributes, ...(userMetadata !== undefined && { userMetadata }) } as Command;
}

/** The inverse: for test workers. */
export function toWireCommand(command: Command): WireCommand {
  const { kind, attributes, userMetadata } = command;
  return {
    commandType: COMMAND_TYPE[kind],
    [commandAttributesField(kind)]: attributes,
    userMetadata,
  };
}

/** The name of the kind's attributes field. */
export function commandAttributesField(kind: CommandKind): string {
  return `${kind.charAt(0).toLowerCase()}${kind.slice(1)}CommandAttributes`;
}
