/**
 * `npm run build`: compiles the shipped folders to dist/ and copies what the compiler leaves behind.
 *
 * Place: also `prepare`, so `npm ci` in a clone leaves a working `atoll` command.
 *
 * Invariants
 *  1. dist/ holds nothing of an earlier build.
 *  2. A build without a single compiled file fails.
 *  3. With `--unless-fresh` (as `prepare`, which `npx atoll` runs too) a build that is newer than its sources stays.
 *  4. A build that fails is never silent: npx hides what `prepare` says, and then the command itself says it.
 */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { createRequire } from 'node:module';

/** Folders of tsconfig.build.json, and the kinds of file in them that are read at run time. */
const SHIPPED = ['bin', 'kernel', 'wire', 'fleet', 'cell', 'replication', 'router', 'admin'];
const ASSETS = /\.(sql|proto|json|binpb)$/;
const COMMAND = 'dist/bin/atoll.js';
const LEFT_OUT = /(^|\/)(testing|conformance)\//;

if (process.argv.includes('--unless-fresh') && isFresh()) process.exit(0);

const tsc = findCompiler();
if (tsc === undefined) fail('the packages are not installed: run npm ci');
rmSync('dist', { recursive: true, force: true });
const compile = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], {
  stdio: 'inherit',
});
if (compile.status !== 0) fail('the code does not compile: npm run build shows where');

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
chmodSync(COMMAND, 0o755);
console.log(`built ${compiled.length} files into dist/`);

/** Nothing that a build reads is newer than what the last one wrote last. */
function isFresh() {
  if (!existsSync(COMMAND)) return false;
  const builtAt = statSync(COMMAND).mtimeMs;
  const sources = ['package.json', 'tsconfig.json', 'tsconfig.build.json', 'tools/build.mjs'];
  for (const folder of SHIPPED.filter((name) => existsSync(name))) {
    for (const name of readdirSync(folder, { recursive: true })) sources.push(join(folder, name));
  }
  return sources.every((path) => statSync(path).mtimeMs <= builtAt);
}

/** Undefined where nothing was installed. */
function findCompiler() {
  try {
    return createRequire(import.meta.url).resolve('typescript/lib/tsc.js');
  } catch {
    return undefined;
  }
}

/** Ends the build. Where npx asked for it, the command that it starts next says why, until a build succeeds. */
function fail(why) {
  console.error(`build: ${why}`);
  if (process.env.npm_command !== 'exec') process.exit(1);
  const words = `console.error(${JSON.stringify(`atoll was not built: ${why}`)});`;
  mkdirSync(dirname(COMMAND), { recursive: true });
  writeFileSync(COMMAND, `#!/usr/bin/env node\n${words}\nprocess.exitCode = 1;\n`);
  chmodSync(COMMAND, 0o755);
  // Older than any source: never taken for a fresh build.
  utimesSync(COMMAND, 0, 0);
  process.exit(0);
}
