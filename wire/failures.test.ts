import { describe, expect, test } from 'vitest';
import type { AtollError } from '../kernel/errors.ts';
import { MAX_DETAILS_BYTES } from '../kernel/rpc/status.ts';
import * as failures from './failures.ts';

const details = (error: AtollError) => {
  const bytes = failures.encodeStatusDetails(error);
  return bytes === undefined ? undefined : failures.decodeStatusDetails(bytes);
};

describe('errors that SDKs recognise', () => {
  test.each([
    [
      failures.alreadyStarted({ workflowId: 'w', requestId: 'q', runId: 'r' }),
      'already-exists',
      ['WorkflowExecutionAlreadyStartedFailure', { startRequestId: 'q', runId: 'r' }],
    ],
    [
      failures.namespaceNotFound('n'),
      'not-found',
      ['NamespaceNotFoundFailure', { namespace: 'n' }],
    ],
    [failures.namespaceAlreadyExists('n'), 'already-exists', ['NamespaceAlreadyExistsFailure', {}]],
    [
      failures.namespaceNotActive({ namespace: 'n', currentCell: 'a', activeCell: 'b' }),
      'failed-precondition',
      ['NamespaceNotActiveFailure', { namespace: 'n', currentCluster: 'a', activeCluster: 'b' }],
    ],
    [failures.notFound('x'), 'not-found', ['NotFoundFailure', {}]],
    [
      failures.cancellationAlreadyRequested('x'),
      'already-exists',
      ['CancellationAlreadyRequestedFailure', {}],
    ],
    [
      failures.queryFailed('x', { message: 'm' }),
      'invalid-argument',
      ['QueryFailedFailure', { failure: { message: 'm' } }],
    ],
    [failures.workflowNotReady('x'), 'failed-precondition', ['WorkflowNotReadyFailure', {}]],
    [
      failures.resourceExhausted({ cause: 5, scope: 1, message: 'x' }),
      'resource-exhausted',
      ['ResourceExhaustedFailure', { cause: 5, scope: 1 }],
    ],
    [
      failures.permissionDenied('x', 'why'),
      'permission-denied',
      ['PermissionDeniedFailure', { reason: 'why' }],
    ],
  ])('%s', (error, code, detail) => {
    expect(error.code).toBe(code);
    expect(details(error)).toEqual([detail]);
  });

  test('an error without a detail has none on the wire', () => {
    expect(details(failures.invalidArgument('x'))).toBeUndefined();
  });

  test('a failure too large for a header travels as its message', () => {
    const error = failures.queryFailed('x', {
      message: 'm',
      stackTrace: 's'.repeat(20_000),
      cause: { message: 'c' },
    });
    expect(failures.encodeStatusDetails(error)?.length).toBeLessThan(MAX_DETAILS_BYTES);
    expect(details(error)).toEqual([['QueryFailedFailure', { failure: { message: 'm' } }]]);
  });
});
