/**
 * Runs one role of ours as a process: starts it, says why it could not, stops it cleanly on Ctrl-C or SIGTERM within
 * five seconds; a second Ctrl-C ends it at once.
 */
import { systemClock } from '../kernel/clock.ts';
import { AtollError } from '../kernel/errors.ts';
import { Lifecycle } from '../kernel/lifecycle.ts';
import { createPinoLog, type LogLevel } from '../kernel/log-pino.ts';
import { silentLog, type Log } from '../kernel/log.ts';
import { checkNode } from './doctor-machine.ts';
import { EXIT } from './exit-codes.ts';

export type LogOptions = {
  /** `never` shows nothing, not even why a start failed. */
  readonly level: LogLevel | 'never';
  readonly format: 'auto' | 'json' | 'pretty';
};
export type RolePorts = { readonly lifecycle: Lifecycle; readonly log: Log };
export type RoleStart = (ports: RolePorts) => Promise<unknown>;

/** Resolves when the role has started; the process then lives until it is told to stop. */
export async function runRole(options: LogOptions, start: RoleStart): Promise<void> {
  const { level, format } = options;
  const log = level === 'never' ? silentLog : createPinoLog({ level, format });
  const node = checkNode(process.versions.node);
  if (node.state === 'wrong') {
    log.error({}, `Node ${node.says}`);
    process.exit(EXIT.failed);
  }
  const lifecycle = new Lifecycle({ clock: systemClock, log });
  const stop = stopOnce(lifecycle, log);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop(signal));
  // Timers of ours do not keep a process alive; its listeners do, and before them this does.
  const keepAlive = setInterval(() => {}, 60_000);
  try {
    await start({ lifecycle, log });
  } catch (error) {
    if (error instanceof AtollError && error.code === 'cancelled') return;
    log.error(error instanceof AtollError ? {} : { err: error }, reasonOf(error));
    await lifecycle.stop();
    process.exit(isUsage(error) ? EXIT.usage : EXIT.failed);
  } finally {
    clearInterval(keepAlive);
  }
}

function stopOnce(lifecycle: Lifecycle, log: Log): (signal: string) => void {
  let stopping = false;
  return (signal) => {
    if (stopping) process.exit(EXIT.failed);
    stopping = true;
    log.info({ signal }, 'stopping; once more ends it at once');
    void lifecycle.stop().then((outcome) => {
      const clean = outcome.kind === 'clean';
      log.info({}, clean ? 'stopped' : 'stopped, not all parts cleanly');
      process.exit(clean ? (process.exitCode ?? EXIT.ok) : EXIT.failed);
    });
  };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function isUsage(error: unknown): boolean {
  return error instanceof AtollError && error.code === 'invalid-argument';
}
