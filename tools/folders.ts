/**
 * The top folders of the tree, in the order of the arrows, and where the shipped code of each may look.
 *
 * Place: read by the gates (tools/lint.ts, tools/arch.ts, arch.config.ts) and by tidy.test.ts.
 */
import { existsSync } from 'node:fs';

const ENGINE = ['kernel', 'wire', 'fleet', 'sdk', 'cell', 'router', 'replication', 'admin'];

/** Top folder → the top folders that it may import, besides itself. */
export const ARROWS: Readonly<Record<string, readonly string[]>> = {
  kernel: [],
  wire: ['kernel'],
  fleet: ['kernel', 'wire'],
  sdk: ['kernel', 'wire'],
  cell: ['kernel', 'wire', 'fleet'],
  router: ['kernel', 'wire', 'fleet'],
  replication: ['kernel', 'wire', 'fleet', 'cell'],
  admin: ['kernel', 'wire', 'fleet', 'replication'],
  examples: ['wire'],
  bench: ['wire'],
  bin: ENGINE,
  chaos: [...ENGINE, 'bin', 'examples', 'bench'],
};

/** All top folders with code of ours. */
export const FOLDERS = [...Object.keys(ARROWS), 'tools'];

/** Those that exist in this checkout: a folder is created when it has a caller. */
export function presentFolders(): string[] {
  return FOLDERS.filter((folder) => existsSync(folder));
}
