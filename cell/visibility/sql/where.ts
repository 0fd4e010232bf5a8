/**
 * A filter as an SQL condition. Every value is a parameter; what is written into the text are column names and
 * operators of ours alone.
 */
import type { SqlValue } from '../../storage/sql/database.ts';
import type { Attribute, Comparison, Filter, Value } from '../filter/filter.ts';
import { workflowKey } from './columns.ts';

/** A condition with its parameters, numbered from `firstParameter`. */
export type Where = { readonly text: string; readonly values: readonly SqlValue[] };

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Attribute → expression that compares like the memory adapter does: text by code points, no locale. */
const EXPRESSIONS: Readonly<Record<Attribute, string>> = {
  WorkflowId: 'workflow_id',
  RunId: 'run_id::text COLLATE "C"',
  WorkflowType: 'workflow_type',
  TaskQueue: 'task_queue',
  ExecutionStatus: 'status',
  StartTime: 'started_at',
  ExecutionTime: 'execution_at',
  CloseTime: 'closed_at',
};

const CASTS: Readonly<Record<Attribute, string>> = {
  WorkflowId: 'text',
  RunId: 'text',
  WorkflowType: 'text',
  TaskQueue: 'text',
  ExecutionStatus: 'int8',
  StartTime: 'int8',
  ExecutionTime: 'int8',
  CloseTime: 'int8',
};

const OPERATORS: Readonly<Record<Comparison, string>> = {
  '=': '=',
  '!=': '<>',
  '<': '<',
  '<=': '<=',
  '>': '>',
  '>=': '>=',
};

export function where(filter: Filter | undefined, firstParameter: number): Where {
  if (filter === undefined) return { text: 'true', values: [] };
  const writer = new Writer(firstParameter);
  const text = writer.write(filter);
  return { text, values: writer.values };
}

class Writer {
  readonly values: SqlValue[] = [];
  readonly #first: number;

  constructor(first: number) {
    this.#first = first;
  }

  write(filter: Filter): string {
    switch (filter.kind) {
      case 'and':
      case 'or':
        return `(${this.write(filter.left)} ${filter.kind.toUpperCase()} ${this.write(filter.right)})`;
      case 'compare':
        return this.#compare(filter);
      case 'between': {
        const low = this.#value(filter.attribute, filter.low);
        const high = this.#value(filter.attribute, filter.high);
        return `(${EXPRESSIONS[filter.attribute]}${not(filter)} BETWEEN ${low} AND ${high})`;
      }
      case 'in': {
        const values = filter.values.map((value) => this.#value(filter.attribute, value));
        return `(${EXPRESSIONS[filter.attribute]}${not(filter)} IN (${values.join(', ')}))`;
      }
      case 'starts-with': {
        const prefix = this.#value(filter.attribute, filter.prefix);
        return `(${not(filter)} starts_with(${EXPRESSIONS[filter.attribute]}, ${prefix}))`;
      }
      case 'is-null':
        return `(${EXPRESSIONS[filter.attribute]} IS${not(filter)} NULL)`;
    }
  }

  #compare(filter: Extract<Filter, { readonly kind: 'compare' }>): string {
    const { attribute, operator, value } = filter;
    if (operator === '=' && attribute === 'WorkflowId') {
      // By the indexed key, and by the id itself.
      const key = this.#parameter(Buffer.from(workflowKey(String(value))).toString('hex'), 'uuid');
      return `(workflow_key = ${key} AND workflow_id = ${this.#value(attribute, value)})`;
    }
    if (operator === '=' && attribute === 'RunId' && UUID.test(String(value))) {
      return `(run_id = ${this.#parameter(value, 'uuid')})`;
    }
    return `(${EXPRESSIONS[attribute]} ${OPERATORS[operator]} ${this.#value(attribute, value)})`;
  }

  #value(attribute: Attribute, value: Value): string {
    return this.#parameter(value, CASTS[attribute]);
  }

  #parameter(value: Value, type: string): string {
    this.values.push(value);
    return `$${this.#first + this.values.length - 1}::${type}`;
  }
}

function not({ negated }: { readonly negated: boolean }): string {
  return negated ? ' NOT' : '';
}
