/** Histories that others recorded, where they lie beside the repository: read, encoded, decoded, all of them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { decodeEvents, encodeEvents } from './event-codec.ts';
import { EVENT_TYPE } from './event-kinds.ts';
import { scanEvents } from './event-scan.ts';
import { eventFromJson, historyFromJson } from './history-json.ts';

const folder = new URL('../../shared/histories/', import.meta.url);
const files = existsSync(folder)
  ? readdirSync(folder).filter((name) => name.endsWith('.json'))
  : [];
const read = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as unknown;

const SAMPLES = /all-event-types/;
const REFUSED = /MayNotIgnore/;
const HAS_UNKNOWN = /MayIgnore/;
const histories = files.filter((name) => !SAMPLES.test(name) && !REFUSED.test(name));

describe.skipIf(files.length === 0)(
  'recorded histories (skipped where ../shared/histories is absent)',
  () => {
    test.each(histories)('%s imports, and comes back as it went', (name) => {
      const history = historyFromJson(read(name));
      expect(history.map((e) => e.eventId)).toEqual(history.map((_, i) => i + 1));
      const bytes = encodeEvents(history);
      const back = decodeEvents(bytes);
      expect(Buffer.compare(encodeEvents(back), bytes)).toBe(0);
      expect(back.map((e) => e.kind)).toEqual(history.map((e) => e.kind));
      expect(scanEvents(bytes).map((r) => r.eventId)).toEqual(history.map((e) => e.eventId));
    });

    test.each(files.filter((name) => REFUSED.test(name)))('%s is refused', (name) => {
      expect(() => historyFromJson(read(name))).toThrow(/history event 6 has type/);
    });

    test.each(files.filter((name) => HAS_UNKNOWN.test(name)))(
      '%s loses its unknown event only',
      (name) => {
        expect(historyFromJson(read(name))).toHaveLength(5);
      },
    );

    test.each(files.filter((name) => SAMPLES.test(name)))('%s: each sample is read', (name) => {
      for (const [kind, sample] of Object.entries(read(name) as Record<string, unknown>)) {
        if (!(kind in EVENT_TYPE)) continue;
        expect(eventFromJson(sample)?.kind).toBe(kind);
      }
    });
  },
);
