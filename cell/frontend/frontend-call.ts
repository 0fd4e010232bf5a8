/** One call's circumstances, before anything is known of its namespace. Imports nothing: ports and handlers share it. */

/** A call as it arrives; what `kernel/rpc` hands over is one. */
export type FrontendCall = {
  /** Aborts when the client is gone, its deadline has passed, or the server closes. */
  readonly signal: AbortSignal;
  /** What the client allows, in ms from the call's arrival; undefined = no limit. */
  readonly deadlineMs?: number | undefined;
  /** The verified certificate name of the connection's other end; undefined without mTLS. */
  readonly peer?: string | undefined;
  /** Metadata by lower-case name. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
};
