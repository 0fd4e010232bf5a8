/**
 * Compiles the engine and the mains of this folder once, so that the many processes of a torture run start fast.
 *
 * Place: before the first phase. Types are not checked: that is `npm run typecheck`'s.
 *
 * Invariants
 *  1. The output mirrors the tree, with the files that are read at run time.
 *  2. Each run has a folder of its own, and removes it: runs side by side do not meet.
 */
import { cp, mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import ts from 'typescript';

const ROOT = new URL('../../', import.meta.url).pathname;
/** Below node_modules, where packages are found as from the tree itself. */
const CACHE = join(ROOT, 'node_modules/.cache');
const FOLDERS = [
  ...['bin', 'kernel', 'wire', 'fleet', 'cell', 'replication', 'router', 'admin'],
  'chaos/live',
];
const LEFT_OUT = /\.test\.ts$|\/(testing|conformance)\//;
const ASSETS = /\.(sql|proto|json|binpb|cjs|mjs)$/;

const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.ESNext,
  verbatimModuleSyntax: true,
  rewriteRelativeImportExtensions: true,
};

/** Makes a folder for compiled files; the caller removes it. */
export async function makeCompileFolder(): Promise<string> {
  await mkdir(CACHE, { recursive: true });
  return mkdtemp(join(CACHE, 'atoll-torture-'));
}

/** Compiles into `output`; resolves with the folder that holds what is in `chaos/live`. */
export async function compileMains(output: string): Promise<string> {
  await writeFile(join(output, 'package.json'), '{"type":"module"}\n');
  for (const folder of FOLDERS) {
    const entries = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true });
    for (const entry of entries) {
      const path = join(entry.parentPath, entry.name).slice(ROOT.length);
      if (entry.isFile() && !LEFT_OUT.test(path)) await compileFile(path, output);
    }
  }
  return join(output, 'chaos/live');
}

async function compileFile(path: string, output: string): Promise<void> {
  const source = join(ROOT, path);
  const target = join(output, path);
  await mkdir(dirname(target), { recursive: true });
  if (ASSETS.test(path)) return cp(source, target);
  if (!path.endsWith('.ts')) return;
  const { outputText } = ts.transpileModule(await readFile(source, 'utf8'), {
    compilerOptions: OPTIONS,
    fileName: path,
  });
  await writeFile(target.replace(/\.ts$/, '.js'), outputText);
}
