import { expect, test } from 'vitest';
import * as enums from './enums.ts';
import { enumValues } from './proto.ts';

/** `WORKFLOW_EXECUTION_STATUS_TIMED_OUT` of WorkflowExecutionStatus → `TimedOut`. */
function camel(type: string, value: string): string {
  const prefix = type.replace(/(?!^)[A-Z]/g, '_$&').toUpperCase();
  return value
    .slice(prefix.length + 1)
    .split('_')
    .map((word) => word.charAt(0) + word.slice(1).toLowerCase())
    .join('');
}

test.each(Object.entries(enums))('%s has the values of the contract', (type, ours) => {
  const theirs = Object.entries(enumValues(`temporal.api.enums.v1.${type}`));
  expect(ours).toEqual(
    Object.fromEntries(theirs.map(([name, value]) => [camel(type, name), value])),
  );
});
