/** Logging as a port, shaped like pino's loggers: fields first, then a sentence. `bin/` names the real one. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** A logger that adds these fields to every line. */
  child(fields: object): Log;
}

/** Says nothing: for tests and the simulator. */
export const silentLog: Log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => silentLog,
};
