import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { fieldsOf } from '../wire/proto.ts';
import { METHODS } from '../wire/services.ts';
import { notServed, routesOfContract } from './methods.ts';

const routes = routesOfContract();
const withoutNamespace = [...METHODS.values()].filter(
  ({ request }) => !fieldsOf(request.name).some(({ name }) => name === 'namespace'),
);

describe('a call that names no namespace', () => {
  it.each(withoutNamespace.map(({ path }) => path))(
    '%s is answered here, or refused with a reason',
    (path) => {
      const route = routes.get(path);
      expect(route?.kind).not.toBe('namespaced');
      if (route?.kind === 'unimplemented')
        expect(notServed(path, route.why).message).toMatch(/: .+/);
    },
  );

  it('is in the table of docs/router.md, with what becomes of it', () => {
    const page = readFileSync(new URL('../docs/router.md', import.meta.url), 'utf8');
    for (const { path, name } of withoutNamespace) {
      const row = page.split('\n').find((line) => line.includes(`\`${name}\``)) ?? name;
      const refused = routes.get(path)?.kind === 'unimplemented';
      expect([name, row.includes('UNIMPLEMENTED')]).toEqual([name, refused]);
    }
  });
});
