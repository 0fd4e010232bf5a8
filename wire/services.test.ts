import proto from '@temporalio/proto';
import { describe, expect, test } from 'vitest';
import { HEALTH_CHECK_PATH, healthCheckResponse } from './health.ts';
import {
  decodeRequest,
  encodeResponse,
  METHODS,
  methodOf,
  warm,
  workflowPath,
} from './services.ts';
import type { Request, Response } from './services.ts';

const api = proto.temporal.api.workflowservice.v1;

describe('the table of methods', () => {
  test('has every RPC of the three services', () => {
    const count = (service: string) =>
      [...METHODS.values()].filter((m) => m.service.endsWith(service)).length;
    expect(count('WorkflowService')).toBeGreaterThanOrEqual(123);
    expect(count('OperatorService')).toBeGreaterThanOrEqual(12);
    expect(count('Health')).toBe(2);
  });

  test('a request of the official library decodes to plain data, and an answer of ours decodes there', () => {
    const method = methodOf(workflowPath('StartWorkflowExecution'));
    const bytes = api.StartWorkflowExecutionRequest.encode({
      namespace: 'default',
      workflowId: 'w',
      workflowRunTimeout: { seconds: 5 as never },
      input: { payloads: [{ data: new Uint8Array([1, 2]) }] },
    }).finish();
    const request = decodeRequest(method, bytes) as Request<'StartWorkflowExecution'>;
    expect(request).toEqual({
      namespace: 'default',
      workflowId: 'w',
      workflowRunTimeout: { seconds: 5 },
      input: { payloads: [{ data: new Uint8Array([1, 2]) }] },
    });
    const response: Response<'StartWorkflowExecution'> = { runId: 'r', started: true };
    const decoded = api.StartWorkflowExecutionResponse.decode(encodeResponse(method, response));
    expect(decoded).toMatchObject({ runId: 'r', started: true });
  });

  test('a path that the contract does not name is unimplemented', () => {
    const call = () => methodOf('/temporal.api.workflowservice.v1.WorkflowService/Nothing');
    expect(call).toThrow(expect.objectContaining({ code: 'unimplemented' }) as Error);
  });

  test('warming compiles the hot codecs and changes nothing', () => {
    warm();
    expect(decodeRequest(methodOf(workflowPath('GetSystemInfo')), new Uint8Array())).toEqual({});
  });
});

describe('health', () => {
  const health = proto.grpc.health.v1;
  const ask = (service: string) => health.HealthCheckRequest.encode({ service }).finish();

  test.each(['', 'temporal.api.workflowservice.v1.WorkflowService'])(
    'answers for %j',
    (service) => {
      const serving = health.HealthCheckResponse.decode(
        healthCheckResponse(ask(service), 'serving'),
      );
      expect(serving.status).toBe(health.HealthCheckResponse.ServingStatus.SERVING);
      const not = health.HealthCheckResponse.decode(
        healthCheckResponse(ask(service), 'not-serving'),
      );
      expect(not.status).toBe(health.HealthCheckResponse.ServingStatus.NOT_SERVING);
    },
  );

  test('knows only its services', () => {
    expect(METHODS.has(HEALTH_CHECK_PATH)).toBe(true);
    expect(() => healthCheckResponse(ask('other'), 'serving')).toThrow(/is not served here/);
  });
});
