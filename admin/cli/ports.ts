/** What the commands take from the process that runs them. */
import type { Clock } from '../../kernel/clock.ts';
import type { SecureClientSessionOptions } from 'node:http2';

export type CliPorts = {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Asks a person; undefined when nobody is there to answer. */
  readonly ask: ((question: string) => Promise<string>) | undefined;
  /** Aborts on Ctrl-C. */
  readonly interrupted: AbortSignal;
  /** A command begins: keeps the process alive, and catches Ctrl-C, until it is given the exit code. */
  readonly begin: () => (code: number) => void;
  /** TLS towards the admin port, from the environment; undefined: cleartext. */
  readonly tls?: SecureClientSessionOptions | undefined;
};
