/**
 * `npm run arch`: checks the arrows of arch.config.ts and the purity of the pure folders.
 *
 * Invariants
 *  1. A run that saw no module fails: with a TypeScript that dependency-cruiser cannot load it sees none.
 *  2. Every TypeScript file of the folders was seen.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { cruise, type ICruiseOptions, type IModule } from 'dependency-cruiser';
import extractTSConfig from 'dependency-cruiser/config-utl/extract-ts-config';
import { forbidden, pureFolders } from '../arch.config.ts';
import { invariant } from '../kernel/invariant.ts';
import { presentFolders } from './folders.ts';

type Violation = { readonly rule: string; readonly from: string; readonly to: string };

/** What a cruise found. `missed` are files that exist and were not seen. */
export type Finding = {
  readonly seen: number;
  readonly missed: readonly string[];
  readonly violations: readonly Violation[];
};

/** Cruises the folders below `baseDir`. */
export async function checkArrows(baseDir: string, folders: string[]): Promise<Finding> {
  const options: ICruiseOptions = {
    baseDir,
    validate: true,
    ruleSet: { forbidden: [...forbidden] },
    tsPreCompilationDeps: true,
    combinedDependencies: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'node'],
    },
  };
  // Listed first: a file that comes while the cruise goes on is nobody's breach.
  const present = folders.flatMap((folder) => filesOf(baseDir, folder));
  const tsConfig = extractTSConfig(join(baseDir, 'tsconfig.json'));
  const { output } = await cruise(folders, options, {}, { tsConfig });
  invariant(typeof output !== 'string', 'a cruise without a reporter answers with its result');
  const modules = output.modules.filter((module) => module.source.endsWith('.ts'));
  const own = modules.filter((module) =>
    folders.some((folder) => module.source.startsWith(`${folder}/`)),
  );
  const seen = new Set(own.map((module) => module.source));
  return {
    seen: seen.size,
    missed: present.filter((path) => !seen.has(path)),
    violations: [
      ...output.summary.violations.map(({ rule, from, to }) => ({ rule: rule.name, from, to })),
      ...impurities(own),
    ],
  };
}

function filesOf(baseDir: string, folder: string): string[] {
  return readdirSync(join(baseDir, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => `${folder}/${name}`)
    .filter((path) => path.endsWith('.ts') && !path.includes('node_modules'));
}

/** What the pure folders reach at run time, over any number of imports, that is not code of ours. */
function impurities(modules: readonly IModule[]): Violation[] {
  const bySource = new Map(modules.map((module) => [module.source, module]));
  const found: Violation[] = [];
  const roots = modules.filter(
    ({ source }) =>
      pureFolders.some((folder) => source.startsWith(`${folder}/`)) && isShipped(source),
  );
  for (const root of roots) {
    const queue = [{ source: root.source, via: root.source }];
    const visited = new Set([root.source]);
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
      for (const dependency of bySource.get(item.source)?.dependencies ?? []) {
        if (dependency.dependencyTypes.includes('type-only')) continue;
        const next = dependency.resolved;
        if (visited.has(next)) continue;
        visited.add(next);
        const via = `${item.via} → ${next}`;
        if (bySource.has(next)) queue.push({ source: next, via });
        else found.push({ rule: 'pure-at-run-time', from: root.source, to: via });
      }
    }
  }
  return found;
}

function isShipped(source: string): boolean {
  return !/\.test\.ts$|\/(testing|conformance)\//.test(source);
}

async function main(): Promise<void> {
  const { seen, missed, violations } = await checkArrows(process.cwd(), presentFolders());
  for (const { rule, from, to } of violations) console.error(`${rule}: ${from} → ${to}`);
  for (const path of missed) console.error(`not seen: ${path}`);
  if (seen === 0)
    console.error('arch: no module was seen, so nothing was proved (typescript must be ~6.0)');
  console.log(`arch: ${seen} modules, ${violations.length} violations, ${missed.length} not seen`);
  process.exitCode = seen > 0 && violations.length + missed.length === 0 ? 0 : 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main();
