/**
 * What a failed connection or statement means, in words that tell a person what to do.
 *
 * Place: `connection.ts` passes every error of the driver through here, so that nothing else knows its codes.
 */
import { AtollError } from '../../../kernel/errors.ts';

/** Where a connection goes, without its password. */
export type Endpoint = {
  readonly product: 'PostgreSQL' | 'YugabyteDB';
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
};

const DISK_FULL = '53100';

/** The five-character SQLSTATE or the system's error code, if the error carries one. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  if (typeof error.code === 'string') return error.code;
  return undefined;
}

/** The SQLSTATE behind one of our errors: its cause's code. */
export function causeCodeOf(error: unknown): string | undefined {
  return error instanceof Error ? codeOf(error.cause) : undefined;
}

/** An error while connecting. */
export function connectError(thrown: unknown, endpoint: Endpoint): AtollError {
  const at = `${endpoint.product} at ${endpoint.host}:${endpoint.port}`;
  const options = { cause: thrown };
  switch (codeOf(thrown)) {
    case '28P01':
    case '28000':
      return new AtollError(
        'unauthenticated',
        `${at} does not let user "${endpoint.user}" in: check user and password of the database URL`,
        options,
      );
    case '3D000':
      return new AtollError(
        'not-found',
        `${at} has no database "${endpoint.database}": create it, or correct the database URL`,
        options,
      );
    case '53300':
      return new AtollError(
        'resource-exhausted',
        `${at} has no connection left: raise max_connections, or run fewer cells on it`,
        options,
      );
    case '57P03':
      return new AtollError(
        'unavailable',
        `${at} is starting up or shutting down: try again in a moment`,
        options,
      );
    default:
      return new AtollError(
        'unavailable',
        `cannot reach ${at} (${reasonOf(thrown)}): is it running, and is the database URL right?`,
        options,
      );
  }
}

/** An error of a statement: what was stored is not known. The SQLSTATE stays with the cause. */
export function statementError(thrown: unknown, endpoint: Endpoint): AtollError {
  if (thrown instanceof AtollError) return thrown;
  return new AtollError(
    'unavailable',
    `${endpoint.product} at ${endpoint.host}:${endpoint.port} failed a statement (${reasonOf(thrown)})`,
    { cause: thrown },
  );
}

function reasonOf(thrown: unknown): string {
  const code = codeOf(thrown);
  if (code === DISK_FULL) return 'its disk is full: free some there, and calls go on by themselves';
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  if (code === undefined) return message || 'no reason given';
  return message === '' || message.includes(code) ? message || code : `${code} ${message}`;
}
