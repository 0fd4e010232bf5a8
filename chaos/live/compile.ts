/**
 * Compiles the engine and the mains of this folder once, so that the many processes of a torture run start fast.
 *
 * Place: before the first phase. Types are not checked: that is `npm run typecheck`'s.
 *
 * Invariants
 *  1. The output mirrors the tree, with the files that are read at run time; nothing of an earlier run is left in it.
 */
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import ts from 'typescript';

const ROOT = new URL('../../', import.meta.url).pathname;
/** Below node_modules, where packages are found as from the tree itself. */
const OUTPUT = join(ROOT, 'node_modules/.cache/atoll-torture');
const FOLDERS = ['bin', 'kernel', 'wire', 'fleet', 'cell', 'router', 'chaos/live'];
const LEFT_OUT = /\.test\.ts$|\/(testing|conformance)\//;
const ASSETS = /\.(sql|proto|json|binpb|cjs|mjs)$/;

const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.ESNext,
  verbatimModuleSyntax: true,
  rewriteRelativeImportExtensions: true,
};

/** Compiles; resolves with the folder that holds what is in `chaos/live`. */
export async function compileMains(): Promise<string> {
  await rm(OUTPUT, { recursive: true, force: true });
  await mkdir(OUTPUT, { recursive: true });
  await writeFile(join(OUTPUT, 'package.json'), '{"type":"module"}\n');
  for (const folder of FOLDERS) {
    const entries = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true });
    for (const entry of entries) {
      const path = join(entry.parentPath, entry.name).slice(ROOT.length);
      if (entry.isFile() && !LEFT_OUT.test(path)) await compileFile(path);
    }
  }
  return join(OUTPUT, 'chaos/live');
}

async function compileFile(path: string): Promise<void> {
  const source = join(ROOT, path);
  const target = join(OUTPUT, path);
  await mkdir(dirname(target), { recursive: true });
  if (ASSETS.test(path)) return cp(source, target);
  if (!path.endsWith('.ts')) return;
  const { outputText } = ts.transpileModule(await readFile(source, 'utf8'), {
    compilerOptions: OPTIONS,
    fileName: path,
  });
  await writeFile(target.replace(/\.ts$/, '.js'), outputText);
}
