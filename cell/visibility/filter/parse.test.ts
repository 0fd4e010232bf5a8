import { describe, expect, it } from 'vitest';
import { parseQuery } from './parse.ts';
import { MAX_FILTER_LENGTH } from './tokenise.ts';

/** What is refused: the filter, the place it names, and a word of the reason. */
const REFUSED: readonly (readonly [query: string, at: number, reason: string])[] = [
  [`Nonsense = 'a'`, 1, 'no attribute "Nonsense"'],
  [`workflowid = 'a'`, 1, 'no attribute "workflowid"'],
  [`WorkflowId`, 11, 'ends too early'],
  [`WorkflowId =`, 13, 'ends too early'],
  [`WorkflowId = a`, 14, 'value in quotes'],
  [`WorkflowId = 'a`, 14, 'not closed'],
  ['`WorkflowId = 1', 1, 'not closed'],
  [`WorkflowId LIKE 'a%'`, 12, 'LIKE is not supported'],
  [`WorkflowId NOT LIKE 'a%'`, 16, 'LIKE is not supported'],
  [`WorkflowId = 'a' ORDER BY StartTime`, 18, 'ORDER BY is not supported'],
  [`ORDER BY StartTime`, 1, 'ORDER BY is not supported'],
  [`NOT WorkflowId = 'a'`, 1, 'NOT before a term'],
  [`WorkflowId = 'a' WorkflowId = 'b'`, 18, 'one word too many'],
  [`(WorkflowId = 'a'`, 18, '")" is missing'],
  [`WorkflowId = 'a')`, 17, 'one word too many'],
  [`WorkflowId = 'a' AND`, 21, 'ends too early'],
  [`WorkflowId IN 'a'`, 15, '"(" is missing'],
  [`WorkflowId IN ()`, 16, 'value in quotes'],
  [`StartTime BETWEEN 1 2`, 21, 'AND is missing'],
  [`StartTime = 'yesterday'`, 13, 'needs a time'],
  [`StartTime STARTS_WITH '2026'`, 11, 'does not go with StartTime'],
  [`CloseTime IS 'x'`, 14, 'NULL is missing'],
  [`ExecutionStatus = 'Unspecified'`, 19, 'no ExecutionStatus "Unspecified"'],
  [`ExecutionStatus = 'Running' GROUP BY WorkflowType`, 38, 'only GROUP BY ExecutionStatus'],
  [`GROUP ExecutionStatus`, 7, 'BY is missing'],
  [`WorkflowId = 'a'; DROP TABLE x`, 17, 'means nothing here'],
  [`WorkflowId = 'a' -- x`, 18, 'means nothing here'],
];

describe('a list filter', () => {
  it.each(REFUSED)('%s is refused at %i: %s', (query, at, reason) => {
    const start = `The list filter is not valid at character ${at}: `;
    expect(() => parseQuery(query)).toThrow(start);
    expect(() => parseQuery(query)).toThrow(reason);
  });

  it('is bounded in length, depth, terms and values', () => {
    const term = `WorkflowId = 'a'`;
    const refused = [
      ' '.repeat(MAX_FILTER_LENGTH + 1),
      `${'('.repeat(51)}${term}${')'.repeat(51)}`,
      Array.from({ length: 201 }, () => term).join(' AND '),
      `WorkflowId IN (${Array.from({ length: 1_001 }, () => `'a'`).join(',')})`,
    ];
    for (const query of refused) expect(() => parseQuery(query)).toThrow('not valid');
  });

  it('reads quotes that are doubled or escaped, in either kind of quotes', () => {
    const values = [`'it''s'`, `'it\\'s'`, `"it's"`, `'a\\\\'`, `"say \\"hi\\""`, `'\\n'`];
    const read = values.map((value) => {
      const { filter } = parseQuery(`WorkflowId = ${value}`);
      return filter?.kind === 'compare' ? filter.value : undefined;
    });
    expect(read).toEqual([`it's`, `it's`, `it's`, `a\\`, `say "hi"`, `\\n`]);
  });

  it('binds AND tighter than OR', () => {
    const { filter } = parseQuery(`RunId = 'a' OR RunId = 'b' AND RunId = 'c'`);
    expect(filter).toMatchObject({ kind: 'or', right: { kind: 'and' } });
  });

  it('may ask for counts by status', () => {
    expect(parseQuery('')).toEqual({ filter: undefined, groupByStatus: false });
    expect(parseQuery(' group by ExecutionStatus ').groupByStatus).toBe(true);
    expect(parseQuery(`RunId = 'a' GROUP BY ExecutionStatus`).filter?.kind).toBe('compare');
  });
});
