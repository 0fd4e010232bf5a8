/**
 * `npm run build`: compiles the shipped folders to dist/ and copies what the compiler leaves behind.
 *
 * Place: also `prepare`, so `npm ci` in a clone leaves a working `atoll` command.
 *
 * Invariants
 *  1. dist/ holds nothing of an earlier build.
 *  2. A build without a single compiled file fails.
 *  3. `npx atoll` in the clone runs what was built, and builds nothing itself.
 */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { createRequire } from 'node:module';

/** Folders of tsconfig.build.json, and the kinds of file in them that are read at run time. */
const SHIPPED = ['bin', 'kernel', 'wire', 'fleet', 'cell', 'router'];
const ASSETS = /\.(sql|proto|json|binpb)$/;
const LEFT_OUT = /(^|\/)(testing|conformance)\//;

const tsc = createRequire(import.meta.url).resolve('typescript/lib/tsc.js');
rmSync('dist', { recursive: true, force: true });
const compile = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], {
  stdio: 'inherit',
});
if (compile.status !== 0) {
  console.error('build: the code above does not compile');
  process.exit(1);
}

for (const folder of SHIPPED.filter((name) => existsSync(name))) {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile() || !ASSETS.test(path) || LEFT_OUT.test(path)) continue;
    mkdirSync(dirname(join('dist', path)), { recursive: true });
    cpSync(path, join('dist', path));
  }
}

const compiled = readdirSync('dist', { recursive: true }).filter((name) => name.endsWith('.js'));
if (compiled.length === 0) throw new Error('the build compiled no file');
chmodSync('dist/bin/atoll.js', 0o755);
linkCommand();
console.log(`built ${compiled.length} files into dist/`);

/** npm links the commands of dependencies only; without a link npx would install, and so build, the clone at each call. */
function linkCommand() {
  const link = join('node_modules', '.bin', 'atoll');
  if (!existsSync(dirname(link))) return;
  rmSync(link, { force: true });
  symlinkSync(join('..', '..', 'dist', 'bin', 'atoll.js'), link);
}
