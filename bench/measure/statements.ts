/**
 * Sorts SQL statements as pg_stat_statements keeps them: reads, writes, and what only controls transactions.
 */

export type StatementKind = 'read' | 'write' | 'control';

const CONTROL =
  /^(begin|start\s+transaction|commit|end|rollback|abort|savepoint|release|set|reset|show|discard|deallocate)\b/i;
const WRITE =
  /\b(insert\s+into|update\s+\S+\s+(as\s+\S+\s+)?set|delete\s+from|merge\s+into|copy|truncate|create|alter|drop|for\s+(no\s+key\s+)?update)\b/i;

/** The kind of a statement; a SELECT that locks rows is a write. */
export function kindOf(statement: string): StatementKind {
  const text = withoutComments(statement).trim();
  if (CONTROL.test(text)) return 'control';
  return WRITE.test(text) ? 'write' : 'read';
}

function withoutComments(statement: string): string {
  return statement.replace(/--[^\n]*/g, ' ').replace(/\/\*[^]*?\*\//g, ' ');
}
