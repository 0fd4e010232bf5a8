import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeEvents, encodeEvents } from './event-codec.ts';
import { EVENT_TYPE, type EventKind } from './event-kinds.ts';
import type { HistoryEvent } from './events.ts';
import { scanEvents, sliceEvents } from './event-scan.ts';
import { attributesField } from './event-codec.ts';
import { fieldsOf, type FieldShape } from './proto.ts';

const SEED = 20_261;
const RUNS = 400;

/** Values of a field by its type, at most `depth` messages deep. Never a default value: those do not travel. */
function valueOf(field: FieldShape, depth: number): fc.Arbitrary<unknown> {
  if (field.kind === 'enum') return fc.integer({ min: 1, max: 3 });
  if (field.kind === 'message') return messageOf(field.type, depth - 1);
  if (field.type === 'string') return fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' });
  if (field.type === 'bytes') return fc.uint8Array({ minLength: 1, maxLength: 12 });
  if (field.type === 'bool') return fc.constant(true);
  if (field.type === 'double' || field.type === 'float') return fc.constantFrom(0.5, -2, 1024);
  if (field.type.endsWith('64')) return fc.maxSafeInteger().filter((n) => n !== 0);
  return fc.integer({ min: 1, max: 2 ** 31 - 1 });
}

function messageOf(type: string, depth: number): fc.Arbitrary<Record<string, unknown>> {
  const model: Record<string, fc.Arbitrary<unknown>> = {};
  for (const field of fieldsOf(type)) {
    if (depth <= 0 && field.kind === 'message') continue;
    const one = valueOf(field, depth);
    if (field.map)
      model[field.name] = fc.dictionary(fc.string({ maxLength: 5 }), one, {
        minKeys: 1,
        maxKeys: 2,
      });
    else if (field.repeated) model[field.name] = fc.array(one, { minLength: 1, maxLength: 2 });
    else model[field.name] = one;
  }
  return fc.record(model, { requiredKeys: [], noNullPrototype: true }) as fc.Arbitrary<
    Record<string, unknown>
  >;
}

const attributeTypes = new Map(
  fieldsOf('temporal.api.history.v1.HistoryEvent').map((f) => [f.name, f.type]),
);
const anyEvent = fc.constantFrom(...(Object.keys(EVENT_TYPE) as EventKind[])).chain((kind) =>
  fc.record({
    kind: fc.constant(kind),
    eventTime: fc.integer({ min: 0, max: 4_000_000_000_000 }),
    version: fc.integer({ min: -30, max: 2 ** 40 }),
    attributes: messageOf(attributeTypes.get(attributesField(kind)) ?? '', 3),
  }),
);
const anyHistory = fc
  .array(anyEvent, { maxLength: 12 })
  .map(
    (events) =>
      events.map((event, i) => ({ ...event, eventId: i + 1 })) as unknown as HistoryEvent[],
  );

test('any history comes back as it went', { timeout: 100_000 }, () => {
  fc.assert(
    fc.property(anyHistory, (history) => {
      const bytes = encodeEvents(history);
      const back = decodeEvents(bytes);
      expect(back).toEqual(history);
      expect(Buffer.compare(encodeEvents(back), bytes)).toBe(0);
    }),
    { seed: SEED, numRuns: RUNS },
  );
});

test('a scan finds the borders of any history', { timeout: 100_000 }, () => {
  fc.assert(
    fc.property(anyHistory, fc.nat(12), fc.nat(12), (history, first, last) => {
      const bytes = encodeEvents(history);
      expect(scanEvents(bytes).map((r) => r.eventId)).toEqual(history.map((e) => e.eventId));
      const inside = history.filter((e) => e.eventId >= first && e.eventId <= last);
      expect(Buffer.compare(sliceEvents(bytes, first, last), encodeEvents(inside))).toBe(0);
    }),
    { seed: SEED, numRuns: RUNS },
  );
});

test('bytes of anybody are decoded or refused, never worse', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      for (const read of [decodeEvents, scanEvents]) {
        try {
          read(bytes);
        } catch (error) {
          expect(error).toMatchObject({ name: 'AtollError' });
        }
      }
    }),
    { seed: SEED, numRuns: 5_000 },
  );
});
