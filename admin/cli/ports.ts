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
  /** Reads and checks the files of TLS towards the admin port; undefined: cleartext. @throws AtollError saying what is wrong */
  readonly tls: (files: AdminTlsFiles) => Promise<SecureClientSessionOptions | undefined>;
};

/** Paths as the flags `--admin-tls-ca`, `--admin-tls-cert` and `--admin-tls-key` give them; empty: not given. */
export type AdminTlsFiles = { readonly ca: string; readonly cert: string; readonly key: string };
