/**
 * The project's own files, and what tidy.test.ts asks of a TypeScript file's syntax tree.
 *
 * Invariants
 *  1. Every text file that a commit may hold is listed, once; nothing installed or built is.
 */
import { readdirSync, readFileSync } from 'node:fs';
import ts from 'typescript';

export type SourceFile = {
  readonly path: string;
  readonly text: string;
  readonly lines: number;
  readonly isTest: boolean;
  /** Runs in production or in the simulator: neither a test nor what serves tests. */
  readonly isShipped: boolean;
};

export type Found = { readonly where: string; readonly what: string; readonly size: number };

const SKIPPED = new Set(['node_modules', 'dist', '.git', '.atoll', '.claude', '.vscode', '.idea']);
const TEXT = /\.(ts|mjs|js|json|jsonc|md|sql|proto|yml|yaml|sh|txt|patch|tf)$|(^|\/)[^.]+$/;
const UNSHIPPED = /\.test\.ts$|\/(testing|conformance)\/|^(chaos|examples|bench|tools)\/|^[^/]+$/;

/** All text files of the project, by path from the root. */
export function readTree(): readonly SourceFile[] {
  return walk('').map((path) => {
    const text = readFileSync(path, 'utf8');
    return {
      path,
      text,
      lines: text.split('\n').length - 1,
      isTest: path.endsWith('.test.ts'),
      isShipped: path.endsWith('.ts') && !UNSHIPPED.test(path),
    };
  });
}

function walk(folder: string): string[] {
  return readdirSync(folder === '' ? '.' : folder, { withFileTypes: true }).flatMap((entry) => {
    if (SKIPPED.has(entry.name)) return [];
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) return walk(path);
    return entry.isFile() && TEXT.test(path) ? [path] : [];
  });
}

const parsed = new WeakMap<object, ts.SourceFile>();

/** The syntax tree of a file, made once. */
export function parse(file: Pick<SourceFile, 'path' | 'text'>): ts.SourceFile {
  const root =
    parsed.get(file) ?? ts.createSourceFile(file.path, file.text, ts.ScriptTarget.ES2023, true);
  parsed.set(file, root);
  return root;
}

/** Functions and methods with their length in lines, from the first line to the closing brace. */
export function functionsOf(root: ts.SourceFile): readonly Found[] {
  return collect(root, (node) => {
    if (!ts.isFunctionLike(node) || !('body' in node) || node.body === undefined) return undefined;
    const last = root.getLineAndCharacterOfPosition(node.end).line;
    const first = root.getLineAndCharacterOfPosition(node.getStart(root)).line;
    return { what: node.name?.getText(root) ?? 'a function', size: last - first + 1 };
  });
}

/** Named object types with how many of their members can be called. */
export function portsOf(root: ts.SourceFile): readonly Found[] {
  return collect(root, (node) => {
    const members = ts.isInterfaceDeclaration(node)
      ? node.members
      : ts.isTypeAliasDeclaration(node) && ts.isTypeLiteralNode(node.type)
        ? node.type.members
        : undefined;
    if (members === undefined) return undefined;
    const name = (node as ts.InterfaceDeclaration | ts.TypeAliasDeclaration).name.text;
    return { what: name, size: members.filter(isCallable).length };
  });
}

function isCallable(member: ts.TypeElement): boolean {
  if (ts.isMethodSignature(member)) return true;
  return (
    ts.isPropertySignature(member) &&
    member.type !== undefined &&
    ts.isFunctionTypeNode(member.type)
  );
}

/** Machine time, randomness and environment where the linter does not look for them. */
export function machineUsesOf(root: ts.SourceFile): readonly Found[] {
  return collect(root, (node) => {
    if (ts.isNewExpression(node) && node.expression.getText(root) === 'Date') {
      return (node.arguments?.length ?? 0) === 0 ? { what: 'new Date()', size: 1 } : undefined;
    }
    if (ts.isIdentifier(node) && /^system(Clock|Rng)$/.test(node.text)) {
      return { what: node.text, size: 1 };
    }
    if (ts.isPropertyAccessExpression(node) && node.expression.getText(root) === 'globalThis') {
      const banned = /^(set(Timeout|Interval|Immediate)|crypto|process|performance|Date)$/;
      return banned.test(node.name.text) ? { what: node.getText(root), size: 1 } : undefined;
    }
    const from = ts.isVariableDeclaration(node) ? node.initializer?.getText(root) : undefined;
    if (from === 'process' || from === 'globalThis') return { what: `= ${from}`, size: 1 };
    return undefined;
  });
}

function collect(
  root: ts.SourceFile,
  look: (node: ts.Node) => { what: string; size: number } | undefined,
): readonly Found[] {
  const found: Found[] = [];
  const visit = (node: ts.Node) => {
    const hit = look(node);
    if (hit !== undefined) {
      const line = root.getLineAndCharacterOfPosition(node.getStart(root)).line + 1;
      found.push({ where: `${root.fileName}:${line}`, ...hit });
    }
    ts.forEachChild(node, visit);
  };
  visit(root);
  return found;
}
