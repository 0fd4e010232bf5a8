/** Whether a row meets a filter, as SQL would say it: a comparison with what is absent is never true. */
import type { IndexRow } from '../../history/work.ts';
import type { Attribute, Comparison, Filter, Value } from '../filter/filter.ts';

const VALUES: Readonly<Record<Attribute, (row: IndexRow) => Value | undefined>> = {
  WorkflowId: (row) => row.workflowId,
  RunId: (row) => row.runId,
  WorkflowType: (row) => row.workflowType,
  TaskQueue: (row) => row.taskQueue,
  ExecutionStatus: (row) => row.status,
  StartTime: (row) => row.startedAt,
  ExecutionTime: (row) => row.executionAt,
  CloseTime: (row) => row.closedAt,
};

export function matches(filter: Filter, row: IndexRow): boolean {
  switch (filter.kind) {
    case 'and':
      return matches(filter.left, row) && matches(filter.right, row);
    case 'or':
      return matches(filter.left, row) || matches(filter.right, row);
    case 'is-null':
      return (VALUES[filter.attribute](row) === undefined) !== filter.negated;
    default: {
      const value = VALUES[filter.attribute](row);
      return value !== undefined && test(filter, value);
    }
  }
}

function test(
  filter: Exclude<Filter, { readonly kind: 'and' | 'or' | 'is-null' }>,
  value: Value,
): boolean {
  switch (filter.kind) {
    case 'compare':
      return HOLDS[filter.operator](order(value, filter.value));
    case 'between': {
      const inside = order(value, filter.low) >= 0 && order(value, filter.high) <= 0;
      return inside !== filter.negated;
    }
    case 'in':
      return filter.values.includes(value) !== filter.negated;
    case 'starts-with':
      return String(value).startsWith(filter.prefix) !== filter.negated;
  }
}

const HOLDS: Readonly<Record<Comparison, (order: number) => boolean>> = {
  '=': (order) => order === 0,
  '!=': (order) => order !== 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
};

/** Numbers by size, text by code points: UTF-8 keeps their order. */
function order(a: Value, b: Value): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return Buffer.from(String(a)).compare(Buffer.from(String(b)));
}
