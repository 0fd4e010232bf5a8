import { describe, expect, test } from 'vitest';
import { commandAttributesField } from './command-codec.ts';
import { attributesField } from './event-codec.ts';
import { COMMAND_TYPE, EVENT_TYPE, type CommandKind, type EventKind } from './event-kinds.ts';
import { enumValues, fieldsOf } from './proto.ts';

/** `EVENT_TYPE_TIMER_FIRED` → `TimerFired`. */
const camel = (name: string, prefix: string) =>
  name
    .slice(prefix.length)
    .split('_')
    .map((word) => word.charAt(0) + word.slice(1).toLowerCase())
    .join('');

const contract = (type: string, prefix: string) =>
  Object.fromEntries(
    Object.entries(enumValues(type))
      .filter(([, value]) => value !== 0)
      .map(([name, value]) => [camel(name, prefix), value]),
  );

describe('the kinds of events and commands', () => {
  test('are the event types of the contract, all of them', () => {
    expect(EVENT_TYPE).toEqual(contract('temporal.api.enums.v1.EventType', 'EVENT_TYPE_'));
  });

  test('are the command types of the contract, all of them', () => {
    expect(COMMAND_TYPE).toEqual(contract('temporal.api.enums.v1.CommandType', 'COMMAND_TYPE_'));
  });

  test('each event kind has the attributes field of its name', () => {
    const fields = new Set(fieldsOf('temporal.api.history.v1.HistoryEvent').map((f) => f.name));
    const missing = Object.keys(EVENT_TYPE).filter(
      (k) => !fields.has(attributesField(k as EventKind)),
    );
    expect(missing).toEqual([]);
  });

  test('each command kind has the attributes field of its name', () => {
    const fields = new Set(fieldsOf('temporal.api.command.v1.Command').map((f) => f.name));
    const missing = Object.keys(COMMAND_TYPE).filter(
      (k) => !fields.has(commandAttributesField(k as CommandKind)),
    );
    expect(missing).toEqual([]);
  });
});
