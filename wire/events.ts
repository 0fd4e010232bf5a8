/**
 * History events and commands as tagged unions of plain data. `kind` names the type; `attributes` are the
 * contract's own attributes of that type. Codecs live in event-codec.ts; this file is types only, so that the
 * pure core may use it.
 */
import type { temporal } from '@temporalio/proto';
import type { CommandKind, EventKind } from './event-kinds.ts';
import type { Link, Plain, UserMetadata } from './plain.ts';

type WireEvent = temporal.api.history.v1.IHistoryEvent;
type WireCommand = temporal.api.command.v1.ICommand;

export type EventAttributes<K extends EventKind> = Plain<
  NonNullable<WireEvent[`${Uncapitalize<K>}EventAttributes`]>
>;

/** One history event of kind `K`. */
export type EventOf<K extends EventKind> = {
  readonly kind: K;
  /** From 1, without gaps, within a run. */
  readonly eventId: number;
  /** Milliseconds since 1970 (D16). */
  readonly eventTime: number;
  /** The epoch under which it was written (D9). */
  readonly version: number;
  readonly attributes: EventAttributes<K>;
  readonly userMetadata?: UserMetadata | undefined;
  readonly links?: readonly Link[] | undefined;
  readonly workerMayIgnore?: boolean | undefined;
};
export type HistoryEvent = { [K in EventKind]: EventOf<K> }[EventKind];

export type CommandAttributes<K extends CommandKind> = Plain<
  NonNullable<WireCommand[`${Uncapitalize<K>}CommandAttributes`]>
>;
/** One command of kind `K`, as a worker sent it. */
export type CommandOf<K extends CommandKind> = {
  readonly kind: K;
  readonly attributes: CommandAttributes<K>;
  readonly userMetadata?: UserMetadata | undefined;
};
export type Command = { [K in CommandKind]: CommandOf<K> }[CommandKind];
