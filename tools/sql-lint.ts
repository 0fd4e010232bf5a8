/**
 * `npm run sql`: holds all SQL of the cell to the one dialect (tools/sql-rules.ts).
 *
 * Place: one of the gates (tools/gates.mjs). It reads migrations, and every string and template in the SQL folders that
 * holds SQL; tests may do what they like.
 *
 * Invariants
 *  1. A run that saw no statement in one of the folders fails: it would have proved nothing.
 *  2. Statements of one string are judged together, since they are sent together.
 */
import { pathToFileURL } from 'node:url';
import ts from 'typescript';
import { breachesOf, statementsIn } from './sql-rules.ts';
import { parse, readTree, type SourceFile } from './source-tree.ts';

const PLACES = ['cell/storage/migrations/', 'cell/storage/sql/', 'cell/visibility/sql/'];

/** A string is SQL if it begins with a verb, or holds one of these words in capitals, as our SQL does. */
const VERB =
  /^\s*(select|insert|update|delete|with|create|alter|drop|truncate|set|begin|commit|listen|notify|declare|fetch|lock)\s/i;
const WORD =
  /\b(SELECT|INSERT INTO|DELETE FROM|WHERE|FROM|JOIN|ORDER BY|LIMIT|OFFSET|FOR UPDATE|LOCKED|LISTEN|NOTIFY|RETURNING|CREATE|ALTER)\b/;

/** Statements that are sent together, and where they are written. */
type Sql = { readonly where: string; readonly statements: readonly string[] };

/** The SQL in a file: each statement of a `.sql` file by itself, the strings of a `.ts` file. */
export function sqlOf(file: Pick<SourceFile, 'path' | 'text'>): readonly Sql[] {
  if (file.path.endsWith('.sql')) {
    return statementsIn(file.text).map((text) => ({ where: file.path, statements: [text] }));
  }
  const root = parse(file);
  const found: Sql[] = [];
  const visit = (node: ts.Node) => {
    const text = textOf(node);
    if (text !== undefined && (VERB.test(text) || WORD.test(text))) {
      const line = root.getLineAndCharacterOfPosition(node.getStart(root)).line + 1;
      found.push({ where: `${file.path}:${line}`, statements: statementsIn(text) });
    }
    ts.forEachChild(node, visit);
  };
  visit(root);
  return found;
}

/** What a string or template says; what is put into it counts as one parameter. */
function textOf(node: ts.Node): string | undefined {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return undefined;
  return node.head.text + node.templateSpans.map(({ literal }) => `$0${literal.text}`).join('');
}

function main(): void {
  const files = readTree().filter(
    ({ path, isShipped }) =>
      PLACES.some((place) => path.startsWith(place)) && (isShipped || path.endsWith('.sql')),
  );
  const all = files.flatMap(sqlOf);
  const blind = PLACES.filter((place) => !all.some(({ where }) => where.startsWith(place)));
  let refused = 0;
  for (const { where, statements } of all) {
    for (const { rule, instead } of breachesOf(statements)) {
      console.error(`${where}: ${rule}: ${instead}`);
      refused += 1;
    }
  }
  for (const place of blind) console.error(`sql: no statement was seen in ${place}`);
  const count = all.reduce((sum, { statements }) => sum + statements.length, 0);
  console.log(`sql: ${count} statements in ${files.length} files, ${refused} refused`);
  process.exitCode = count > 0 && refused + blind.length === 0 ? 0 : 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main();
