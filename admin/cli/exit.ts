/** How a command of an operator ends, for scripts; listed in docs/runbooks. */
export const CLI_EXIT = {
  ok: 0,
  /** Refused or failed; the last line says why. */
  failed: 1,
  /** Wrong flags, or a question that nobody can be asked. */
  usage: 2,
  /** The plan has blockers. */
  blocked: 4,
  /** The move ended, and the namespace is where it was. */
  asBefore: 5,
  /** Ctrl-C while waiting: what was started goes on. */
  interrupted: 130,
} as const;
export type CliExit = (typeof CLI_EXIT)[keyof typeof CLI_EXIT];
