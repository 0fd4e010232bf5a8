/**
 * The door to `@yugabytedb/pg`, YugabyteDB's fork of the PostgreSQL driver: its client, and nothing else of it.
 *
 * The package has three habits that no server may have, so it is loaded with care:
 *  1. It makes a log file `app.log` in the working directory as soon as it is loaded. So its logger is replaced by a
 *     silent one before that.
 *  2. Its own load balancing holds one lock per process while it connects. A node that is away keeps that lock for
 *     ever, and no client of the process connects again. So that stays off, and `cluster.ts` chooses the node.
 *  3. It comes without types. Its client is that of `pg` 8.7, so it is used by those of `pg`.
 */
import { createRequire, Module } from 'node:module';
import type pg from 'pg';

type Driver = {
  readonly Client: new (config: pg.ClientConfig & { readonly loadBalance: false }) => pg.Client;
};

let driver: Driver | undefined;

/** A client of YugabyteDB's driver that has not connected yet. */
export function newYugabyteClient(config: pg.ClientConfig): pg.Client {
  driver ??= load();
  return new driver.Client({ ...config, loadBalance: false });
}

function load(): Driver {
  const require = createRequire(import.meta.url);
  const path = require.resolve('@yugabytedb/pg/lib/logger.js');
  const quiet = () => {};
  const silent = new Module(path);
  silent.exports = {
    logger: { silly: quiet, debug: quiet, info: quiet, warn: quiet, error: quiet },
    setLogLevel: quiet,
  };
  silent.loaded = true;
  require.cache[path] = silent;
  return require('@yugabytedb/pg') as Driver;
}
