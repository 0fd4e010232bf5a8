/** The pino adapter: levels, fields, errors, and who gets readable lines. */
import { describe, expect, it } from 'vitest';
import { AtollError } from './errors.ts';
import { createPinoLog, type PinoLogOptions } from './log-pino.ts';

function capture(options: Partial<PinoLogOptions> = {}, isTTY = false) {
  const lines: string[] = [];
  const to = { isTTY, write: (line: string) => void lines.push(line) };
  return { lines, log: createPinoLog({ level: 'info', format: 'auto', ...options, to }) };
}

describe('createPinoLog', () => {
  it('writes JSON lines with the process fields and those of the child', () => {
    const { lines, log } = capture({ fields: { role: 'cell' } });
    log.child({ shard: 3 }).info({ seq: 9 }, 'appended');
    log.debug({}, 'not at this level');
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      level: 'info',
      role: 'cell',
      shard: 3,
      seq: 9,
      msg: 'appended',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    });
  });

  it('writes readable lines where a person watches a terminal', () => {
    const { lines, log } = capture({}, true);
    log.warn({ shard: 3 }, 'fenced');
    expect(lines.join('')).toMatch(/WARN.*fenced/);
    expect(lines.join('')).toContain('3');
    expect(() => JSON.parse(lines[0] ?? '') as unknown).toThrow();
  });

  it('keeps code, stack and cause of an error', () => {
    const { lines, log } = capture({ format: 'json' }, true);
    const cause = new Error('connection refused');
    log.error({ err: new AtollError('unavailable', 'no database', { cause }) }, 'append failed');
    const line = JSON.parse(lines[0] ?? '') as {
      err: { code: string; stack: string; cause: object };
    };
    expect(line.err.code).toBe('unavailable');
    expect(line.err.stack).toContain('log-pino.test.ts');
    expect(line.err.cause).toMatchObject({ message: 'connection refused' });
  });
});
