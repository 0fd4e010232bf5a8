/**
 * The `atoll` command compiled into a folder of its own, for tests that spawn it as its users do: without a compiler
 * in the process, whose start would be most of what is measured. Types are not checked.
 */
import { chmod, cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import ts from 'typescript';

const ROOT = new URL('../../', import.meta.url).pathname;
const FOLDERS = ['bin', 'kernel', 'wire', 'fleet', 'cell', 'replication', 'router', 'admin'];
const LEFT_OUT = /\.test\.ts$|\/(testing|conformance)\//;
const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.ESNext,
  verbatimModuleSyntax: true,
  rewriteRelativeImportExtensions: true,
};

export type CompiledAtoll = {
  /** An executable file. */
  readonly path: string;
  remove(): Promise<void>;
};

/** Compiles below node_modules, where packages are found as from the tree itself. `name` parts one test from another. */
export async function compileAtoll(name: string): Promise<CompiledAtoll> {
  const output = join(ROOT, 'node_modules/.cache', `atoll-${name}-${process.pid}`);
  await mkdir(output, { recursive: true });
  await writeFile(join(output, 'package.json'), '{"type":"module","version":"0.0.0"}\n');
  for (const folder of FOLDERS) {
    const entries = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true });
    for (const entry of entries) {
      const path = join(entry.parentPath, entry.name).slice(ROOT.length);
      if (entry.isFile() && !LEFT_OUT.test(path)) await compileFile(path, output);
    }
  }
  const path = join(output, 'bin/atoll.js');
  await chmod(path, 0o755);
  return { path, remove: () => rm(output, { recursive: true, force: true }) };
}

async function compileFile(path: string, output: string): Promise<void> {
  const source = join(ROOT, path);
  const target = join(output, path);
  await mkdir(dirname(target), { recursive: true });
  if (!path.endsWith('.ts')) return cp(source, target);
  const { outputText } = ts.transpileModule(await readFile(source, 'utf8'), {
    compilerOptions: OPTIONS,
    fileName: path,
  });
  await writeFile(target.replace(/\.ts$/, '.js'), outputText);
}
