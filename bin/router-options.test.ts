import { describe, expect, test } from 'vitest';
import { resolveConfig } from '../kernel/config.ts';
import { DEFAULT_ROUTER_CONFIG } from '../router/config.ts';
import { routerOptions, routerRelations } from './options.ts';
import { CONFIGURED, routerConfigOf } from './router.ts';

function resolved(flags: Record<string, string>, env: Record<string, string> = {}) {
  return resolveConfig(routerOptions, { flags, env }, routerRelations);
}

describe('the flags of a router', () => {
  test.each(CONFIGURED)('%s has the default of its configuration', (name) => {
    expect(routerOptions[name].default).toBe(DEFAULT_ROUTER_CONFIG[name]);
  });

  test('bound what it holds, by flag or environment', () => {
    const options = resolved({ heldCalls: '20000' }, { ATOLL_HOLD_MS: '2500' });
    expect(routerConfigOf(options)).toMatchObject({ heldCalls: 20_000, holdMs: 2_500 });
    expect(routerConfigOf({ host: '127.0.0.1', port: 0, fleet: 'f' })).toEqual({
      defaultRegion: undefined,
    });
  });

  test.each([
    [{ heldCalls: '5' }, /--held-calls-per-namespace must be at most --held-calls/],
    [{ heldBytes: '2048' }, /--held-bytes-per-namespace must be at most --held-bytes/],
    [{ holdMs: '5' }, /--hold-ms/],
  ])('are refused where %j cannot be', (flags: Record<string, string>, why) => {
    expect(() => resolved(flags)).toThrow(why);
  });
});
