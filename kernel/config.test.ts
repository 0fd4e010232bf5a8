/** Options: where a value comes from, what is refused, and that complaints name the flag. */
import { describe, expect, expectTypeOf, it } from 'vitest';
import { describeOptions, envOf, flagOf, type Options, resolveConfig } from './config.ts';

const OPTIONS = {
  leaseTtlMs: { kind: 'number', default: 9_000, min: 1_000, max: 60_000, meaning: 'Lease time' },
  renewEveryMs: { kind: 'number', default: 3_000, min: 100, max: 60_000, meaning: 'Renewal' },
  database: { kind: 'text', meaning: 'Where the log is', secret: true },
  logFormat: { kind: 'text', default: 'auto', oneOf: ['auto', 'json'], meaning: 'Log lines' },
  inMemory: { kind: 'switch', default: false, meaning: 'Keep nothing' },
} as const satisfies Options;

const RELATIONS = [
  {
    holds: (config: { renewEveryMs: number; leaseTtlMs: number }) =>
      config.renewEveryMs * 2 < config.leaseTtlMs,
    sentence: '--renew-every-ms must be below half of --lease-ttl-ms',
  },
];

const resolve = (
  flags: Record<string, string | number | boolean>,
  env: Record<string, string> = {},
) => resolveConfig(OPTIONS, { flags, env }, RELATIONS);

describe('resolveConfig', () => {
  it('names flags and environment variables alike', () => {
    expect(flagOf('leaseTtlMs')).toBe('--lease-ttl-ms');
    expect(envOf('leaseTtlMs')).toBe('ATOLL_LEASE_TTL_MS');
  });

  it('prefers the flag to the environment and the environment to the default', () => {
    const env = { ATOLL_LEASE_TTL_MS: '20000', ATOLL_RENEW_EVERY_MS: '5000', ATOLL_IN_MEMORY: '1' };
    const config = resolve({ database: 'pg', leaseTtlMs: '30000' }, env);
    expect(config).toEqual({
      leaseTtlMs: 30_000,
      renewEveryMs: 5_000,
      database: 'pg',
      logFormat: 'auto',
      inMemory: true,
    });
    expectTypeOf(config.logFormat).toEqualTypeOf<'auto' | 'json'>();
    expect(Object.isFrozen(config)).toBe(true);
  });

  it.each([
    [
      { leaseTtlMs: 'soon' },
      '--lease-ttl-ms (or ATOLL_LEASE_TTL_MS) must be a number from 1000 to 60000, not "soon"',
    ],
    [
      { leaseTtlMs: '' },
      '--lease-ttl-ms (or ATOLL_LEASE_TTL_MS) must be a number from 1000 to 60000, not ""',
    ],
    [
      { leaseTtlMs: 999 },
      '--lease-ttl-ms (or ATOLL_LEASE_TTL_MS) must be a number from 1000 to 60000, not 999',
    ],
    [
      { inMemory: 'perhaps' },
      '--in-memory (or ATOLL_IN_MEMORY) must be true or false, not "perhaps"',
    ],
    [
      { logFormat: 'xml' },
      '--log-format (or ATOLL_LOG_FORMAT) must be one of auto, json, not "xml"',
    ],
    [{ renewEveryMs: 4_500 }, '--renew-every-ms must be below half of --lease-ttl-ms'],
  ])('refuses %j by a line that names the flag', (flags, message) => {
    expect(() => resolve({ database: 'pg', ...flags })).toThrow(message);
  });

  it('complains of everything at once, and of what is missing', () => {
    const attempt = () => resolve({ leaseTtlMs: -1 });
    expect(attempt).toThrow(/--lease-ttl-ms .*\n--database \(or ATOLL_DATABASE\) is required/);
  });

  it('describes each option on one line of help', () => {
    expect(describeOptions(OPTIONS)).toEqual([
      '--lease-ttl-ms  Lease time (1000 to 60000, default 9000; ATOLL_LEASE_TTL_MS)',
      '--renew-every-ms  Renewal (100 to 60000, default 3000; ATOLL_RENEW_EVERY_MS)',
      '--database  Where the log is (required; ATOLL_DATABASE)',
      '--log-format  Log lines (auto | json, default auto; ATOLL_LOG_FORMAT)',
      '--in-memory  Keep nothing (off by default; ATOLL_IN_MEMORY)',
    ]);
  });
});
