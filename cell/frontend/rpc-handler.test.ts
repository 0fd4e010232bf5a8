import { describe, expect, it } from 'vitest';
import { AtollError } from '../../kernel/errors.ts';
import { InvariantError } from '../../kernel/invariant.ts';
import { silentLog, type Log } from '../../kernel/log.ts';
import { HEALTH_CHECK_PATH } from '../../wire/health.ts';
import { methodOf, workflowPath } from '../../wire/services.ts';
import type { FrontendParts } from './call.ts';
import { frontendRpcHandler } from './rpc-handler.ts';
import { FrontendLab, runState } from './testing/frontend-lab.ts';

const startPath = workflowPath('StartWorkflowExecution');
const request = {
  namespace: 'shop',
  workflowId: 'w',
  workflowType: { name: 'order' },
  taskQueue: { name: 'orders' },
};

function serve(change: Partial<FrontendParts> = {}, isServing = true) {
  const lab = new FrontendLab(change);
  const errors: string[] = [];
  const log: Log = { ...silentLog, error: (_fields, message) => void errors.push(message) };
  const handle = frontendRpcHandler({ frontend: lab.frontend, log, isServing: () => isServing });
  const call = async (path: string, body: Uint8Array) => {
    const signal = new AbortController().signal;
    const reply = await handle({ path, body, headers: {}, deadlineMs: undefined, signal });
    return reply instanceof Uint8Array ? reply : Buffer.concat(reply);
  };
  return { lab, errors, call };
}

const encode = (path: string, message: unknown) => methodOf(path).request.encode(message);
const decode = (path: string, bytes: Uint8Array) => methodOf(path).response.decode(bytes);

describe('the frontend on the wire', () => {
  it('decodes a request and encodes its answer', async () => {
    const { lab, call } = serve();
    lab.engine.reply = () =>
      Promise.resolve({ kind: 'started', runId: 'r', fresh: true, status: 1 });
    const reply = await call(startPath, encode(startPath, request));
    expect(decode(startPath, reply)).toMatchObject({ runId: 'r', started: true });
  });

  it('sends histories as they are stored', async () => {
    const { lab, call } = serve();
    lab.engine.show(runState({ nextEventId: 4 }));
    const path = workflowPath('GetWorkflowExecutionHistory');
    const asked = { namespace: 'shop', execution: { workflowId: 'w' } };
    const reply = decode(path, await call(path, encode(path, asked)));
    expect(reply).toMatchObject({
      history: { events: [{ eventId: 1 }, { eventId: 2 }, { eventId: 3 }] },
    });
  });

  it('refuses malformed protobuf as the fault of its caller', async () => {
    const { lab, call, errors } = serve();
    const garbage = [
      Uint8Array.from([0xff, 0xff, 0xff]),
      Uint8Array.from([0x0a, 0x7f, 0x61]),
      encode(startPath, request).subarray(0, -3),
    ];
    for (const body of garbage) {
      await expect(call(startPath, body)).rejects.toMatchObject({ code: 'invalid-argument' });
    }
    expect([lab.engine.asked, errors]).toEqual([[], []]);
  });

  it('answers what is not built with UNIMPLEMENTED', async () => {
    const { call } = serve();
    const paths = [
      workflowPath('UpdateWorkflowExecution'),
      '/temporal.api.operatorservice.v1.OperatorService/AddSearchAttributes',
      '/some.Service/Method',
    ];
    for (const path of paths) {
      await expect(call(path, new Uint8Array())).rejects.toMatchObject({ code: 'unimplemented' });
    }
  });

  it('tells probes whether it serves', async () => {
    for (const [isServing, status] of [
      [true, 1],
      [false, 2],
    ] as const) {
      const { call } = serve({}, isServing);
      const reply = await call(HEALTH_CHECK_PATH, new Uint8Array());
      expect(decode(HEALTH_CHECK_PATH, reply)).toEqual({ status });
    }
  });

  it('logs faults of its own and keeps its insides from the client', async () => {
    const { lab, call, errors } = serve();
    lab.engine.reply = () => Promise.reject(new InvariantError('seq 7 is not 8'));
    const failing = call(startPath, encode(startPath, request));
    await expect(failing).rejects.toMatchObject({
      code: 'internal',
      message: expect.not.stringContaining('seq'),
    });
    expect(errors).toHaveLength(1);
  });

  it('passes on a refusal without a line in the log', async () => {
    const { lab, call, errors } = serve();
    lab.engine.reply = () => Promise.reject(new AtollError('unavailable', 'the database is away'));
    const failing = call(startPath, encode(startPath, request));
    await expect(failing).rejects.toMatchObject({ code: 'unavailable' });
    expect(errors).toEqual([]);
  });
});
