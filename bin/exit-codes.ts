/** How a process of ours ends, for scripts and supervisors. Listed in docs/errors.md. */
export const EXIT = {
  ok: 0,
  /** Something failed that a person must look at; the last line says what. */
  failed: 1,
  /** Flags or configuration are wrong; nothing was started. */
  usage: 2,
  /** Another owner took a shard over: this process serves no longer, and must not be restarted blindly. */
  fenced: 3,
} as const;
