import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

describe('a build in a clone without packages', () => {
  let clone = '';
  beforeAll(() => {
    clone = mkdtempSync(join(tmpdir(), 'atoll-build-'));
    mkdirSync(join(clone, 'tools'));
    cpSync(new URL('build.mjs', import.meta.url).pathname, join(clone, 'tools/build.mjs'));
  });
  afterAll(() => rmSync(clone, { recursive: true, force: true }));

  const run = (file: string, asked = 'run-script') =>
    spawnSync(process.execPath, [file, '--unless-fresh'], {
      cwd: clone,
      env: { ...process.env, npm_command: asked },
      encoding: 'utf8',
    });

  it('says what to do', () => {
    const { status, stderr } = run('tools/build.mjs');
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining('npm ci') });
  });

  it('lets the command say it where npx hides what a build says', () => {
    expect(run('tools/build.mjs', 'exec').status).toBe(0);
    const { status, stderr } = run('dist/bin/atoll.js');
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining('npm ci') });
    expect(statSync(join(clone, 'dist/bin/atoll.js')).mtimeMs, 'it is no fresh build').toBe(0);
  });
});
