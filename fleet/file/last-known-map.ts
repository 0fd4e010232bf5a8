/** The last known map in one file, replaced whole: see last-known-map.ts of the folder above. */
import { mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AtollError } from '../../kernel/errors.ts';
import type { Rng } from '../../kernel/rng.ts';
import { decodeFleetMap, encodeFleetMap } from '../codec.ts';
import type { LastKnownMap } from '../last-known-map.ts';
import type { FleetMap } from '../map.ts';
import { hasCode, replaceFile } from './durable-file.ts';

/** Keeps it at `path`; directories are made. */
export function fileLastKnownMap(path: string, rng: Rng): LastKnownMap {
  return {
    async load() {
      let text: string;
      try {
        text = await readFile(path, 'utf8');
      } catch (error) {
        if (hasCode(error, 'ENOENT')) return undefined;
        throw error;
      }
      const decoded = decodeFleetMap(text);
      if (decoded.kind === 'map') return decoded.map;
      throw new AtollError(
        'data-loss',
        `${path} is not a fleet map: ${decoded.why}. It is a copy: delete it.`,
      );
    },
    async save(map: FleetMap) {
      await mkdir(dirname(path), { recursive: true });
      await replaceFile(path, `${path}.${rng.uuid()}`, encodeFleetMap(map));
    },
  };
}
