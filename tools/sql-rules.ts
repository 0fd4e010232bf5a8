/**
 * What no statement of ours may use (D13): what YugabyteDB's YSQL lacks or does badly, and what our own design bans.
 *
 * Place: tools/sql-lint.ts applies them to all SQL of the cell; sql-rules.test.ts has what each refuses and accepts.
 *
 * Invariants
 *  1. Quoted text and comments never break a rule.
 *  2. A rule says what to do instead.
 */

type SqlRule = { readonly name: string; readonly refuses: RegExp; readonly instead: string };

/** Tables whose rows come and go with every workflow; they have their primary key alone. */
const HOT = 'shard|shard_log|run|execution|ledger|history|timer|task';

const RULES: readonly SqlRule[] = [
  {
    name: 'advisory lock',
    refuses: /\bpg_(try_)?advisory_/i,
    instead: 'fence by the primary key of the log (D3)',
  },
  {
    name: 'LISTEN/NOTIFY',
    refuses: /\b(UN)?LISTEN\b|\bNOTIFY\b|\bpg_notify\b/i,
    instead: 'tell the other process over the network',
  },
  {
    name: 'SKIP LOCKED',
    refuses: /\bSKIP\s+LOCKED\b/i,
    instead: 'no queue is a table: matching holds tasks in memory (D6)',
  },
  {
    name: 'sequence',
    refuses:
      /\b(SMALL|BIG)?SERIAL[248]?\b|\bSEQUENCE\b|\b(nextval|currval|lastval|setval)\s*\(|\bGENERATED\s+(ALWAYS|BY\s+DEFAULT)\s+AS\b/i,
    instead: 'numbers come from the shard’s owner',
  },
  {
    name: 'SERIALIZABLE',
    refuses: /\bSERIALIZABLE\b/i,
    instead: 'compare in the statement itself',
  },
  {
    name: 'trigger',
    refuses: /\bTRIGGER\b|\bCREATE\s+(OR\s+REPLACE\s+)?RULE\b/i,
    instead: 'write it in the statement',
  },
  {
    name: 'foreign key',
    refuses: /\bFOREIGN\s+KEY\b|\bREFERENCES\b/i,
    instead: 'a checkpoint keeps its rows together',
  },
  {
    name: 'partitioning',
    // PARTITION BY of a window follows OVER ( or a window's name, never the end of a list of columns.
    refuses: /\)\s*PARTITION\s+BY\b|\bPARTITION\s+OF\b|\b(ATTACH|DETACH)\s+PARTITION\b/i,
    instead: 'the first key column is the shard',
  },
  { name: 'OFFSET', refuses: /\bOFFSET\b/i, instead: 'go on after a key' },
  {
    name: 'explicit key form',
    refuses:
      /\b(KEY|UNIQUE|INDEX\b[^(;]*)\s*\([^;]*\b(HASH|ASC|DESC)\b|\bSPLIT\s+(INTO|AT)\b|\bUSING\s+(lsm|btree|hash)\b/i,
    instead: 'a plain list: the first column is hashed there, and PostgreSQL refuses the long form',
  },
  {
    name: 'secondary index on a hot table',
    refuses: new RegExp(
      `\\bCREATE\\s+(UNIQUE\\s+)?INDEX\\b[^(;]*\\bON\\s+(ONLY\\s+)?(${HOT})\\b` +
        `|\\bCREATE\\s+TABLE\\s+(IF\\s+NOT\\s+EXISTS\\s+)?(${HOT})\\b[^;]*\\bUNIQUE\\b`,
      'i',
    ),
    instead: 'go by the primary key',
  },
  {
    name: 'transaction that waits for its client',
    refuses: /^\s*(BEGIN|START\s+TRANSACTION|COMMIT|ROLLBACK|SAVEPOINT|PREPARE\s+TRANSACTION)\b/i,
    instead: 'one statement, which commits by itself (PROTOCOLS 3)',
  },
  {
    name: 'cursor',
    refuses: /\bCURSOR\b|^\s*(FETCH|MOVE)\b/i,
    instead: 'a page that begins after a key',
  },
];

const DDL = /^\s*(CREATE|ALTER|DROP|TRUNCATE)\b/i;

/** What a person reads of a breach. */
export type Breach = { readonly rule: string; readonly instead: string };

/** The breaches of statements that are sent together, or of one that is sent alone. */
export function breachesOf(statements: readonly string[]): readonly Breach[] {
  const bare = statements.map(withoutQuotes);
  const found = bare.flatMap((text) =>
    RULES.filter(({ refuses }) => refuses.test(text)).map(({ name, instead }) => ({
      rule: name,
      instead,
    })),
  );
  if (bare.length > 1 && bare.some((text) => DDL.test(text))) {
    found.push({ rule: 'DDL in a transaction', instead: 'send each such statement alone' });
  }
  return found;
}

/** The statements of a text, by the semicolons outside of quotes and comments. */
export function statementsIn(text: string): readonly string[] {
  return withoutQuotes(text)
    .split(';')
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
}

/** The text without comments, and with nothing between its quotes. */
function withoutQuotes(text: string): string {
  return text.replace(/--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'/g, (found) =>
    found.startsWith("'") ? "''" : ' ',
  );
}
