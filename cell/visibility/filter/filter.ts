/**
 * A list filter as a tree: what parse.ts makes of a query's text and adapters turn into their own terms.
 * Values are typed by their attribute: text stays text, statuses and times are numbers.
 */

/** What can be filtered for, with the type of its values. */
export const ATTRIBUTES = {
  WorkflowId: 'keyword',
  RunId: 'keyword',
  WorkflowType: 'keyword',
  TaskQueue: 'keyword',
  /** Numbers of WorkflowExecutionStatus. */
  ExecutionStatus: 'status',
  /** Times in ms since 1970. */
  StartTime: 'time',
  ExecutionTime: 'time',
  CloseTime: 'time',
} as const;

export type Attribute = keyof typeof ATTRIBUTES;
export type Comparison = '=' | '!=' | '<' | '<=' | '>' | '>=';
export type Value = string | number;

export type Filter =
  | { readonly kind: 'and' | 'or'; readonly left: Filter; readonly right: Filter }
  | {
      readonly kind: 'compare';
      readonly attribute: Attribute;
      readonly operator: Comparison;
      readonly value: Value;
    }
  | {
      readonly kind: 'between';
      readonly attribute: Attribute;
      readonly negated: boolean;
      readonly low: Value;
      readonly high: Value;
    }
  | {
      readonly kind: 'in';
      readonly attribute: Attribute;
      readonly negated: boolean;
      readonly values: readonly Value[];
    }
  | {
      readonly kind: 'starts-with';
      readonly attribute: Attribute;
      readonly negated: boolean;
      readonly prefix: string;
    }
  | { readonly kind: 'is-null'; readonly attribute: Attribute; readonly negated: boolean };

/** A whole query: the filter, and whether counts are asked by status. */
export type Query = { readonly filter?: Filter | undefined; readonly groupByStatus: boolean };
