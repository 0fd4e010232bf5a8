/**
 * The one error class and its closed code table. Each code has one gRPC status (wire/ uses the number) and a
 * section in docs/errors.md, which a test demands.
 */

/** gRPC status numbers by error code: https://grpc.io/docs/guides/status-codes/ */
export const GRPC_STATUS = {
  cancelled: 1,
  'invalid-argument': 3,
  'deadline-exceeded': 4,
  'not-found': 5,
  'already-exists': 6,
  'permission-denied': 7,
  'resource-exhausted': 8,
  'failed-precondition': 9,
  aborted: 10,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  'data-loss': 15,
  unauthenticated: 16,
} as const;

export type ErrorCode = keyof typeof GRPC_STATUS;

/** A typed detail that travels with the error; `type` is a name that wire/ can encode, `value` its fields. */
export type ErrorDetail = {
  readonly type: string;
  readonly value: Readonly<Record<string, unknown>>;
};

export class AtollError extends Error {
  override readonly name = 'AtollError';
  readonly code: ErrorCode;
  readonly detail: ErrorDetail | undefined;
  /** Headers that travel beside the status, for machines between us and the caller (D8): lower case, never secrets. */
  readonly trailers: Readonly<Record<string, string>> | undefined;

  /** @param message what happened and what to do about it, for a person; never secrets or payloads */
  constructor(
    code: ErrorCode,
    message: string,
    options: {
      cause?: unknown;
      detail?: ErrorDetail;
      trailers?: Readonly<Record<string, string>>;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.detail = options.detail;
    this.trailers = options.trailers;
  }
}

/** Any thrown value as an AtollError: itself, or `internal` with the value as its cause. */
export function toAtollError(thrown: unknown): AtollError {
  if (thrown instanceof AtollError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new AtollError('internal', message, { cause: thrown });
}
