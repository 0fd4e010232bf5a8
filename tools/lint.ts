/** `npm run lint`: oxlint with type information over all code; fails when it saw no file. */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { presentFolders } from './folders.ts';

const rootFiles = readdirSync('.').filter((name) => /\.(ts|mjs)$/.test(name));
const args = ['oxlint', '-c', '.oxlintrc.jsonc', '--type-aware', '--deny-warnings'];
const run = spawnSync('npx', [...args, ...presentFolders(), ...rootFiles], { encoding: 'utf8' });
process.stdout.write(run.stdout + run.stderr);
const files = Number(/on (\d+) files?/.exec(run.stdout)?.[1] ?? 0);
if (files === 0) console.error('lint: oxlint saw no file, so it proved nothing');
process.exitCode = run.status === 0 && files === 0 ? 1 : (run.status ?? 1);
