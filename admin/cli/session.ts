/** One run of a command: its client, and how its answer is shown. Failures become a sentence and an exit code. */
import type { Command } from 'commander';
import { AtollError } from '../../kernel/errors.ts';
import type { AdminClient } from './client.ts';
import { CLI_EXIT, type CliExit } from './exit.ts';
import type { AdminTlsFiles, CliPorts } from './ports.ts';

/** As in wire/atoll/admin.ts, which is loaded later. */
const ADMIN_SERVICE = 'atoll.admin.v1';

/** Where `atoll dev` and `atoll admin` listen unless told otherwise. */
const DEFAULT_ADMIN_ADDRESS = '127.0.0.1:7234';

const TLS_FLAGS = {
  ca: 'the authority that signed the certificate of the admin port; without it, cleartext',
  cert: 'the certificate that is shown to the admin port',
  key: 'the private key of that certificate',
} as const;

export type Session = {
  readonly ports: CliPorts;
  readonly client: AdminClient;
  readonly json: boolean;
  /** As JSON or as text, as asked for. */
  readonly show: (value: unknown, text: () => string) => void;
};

export type Flags = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/** Adds what every command has: where to call, and JSON. `example` ends its help. */
export function withCommonFlags(command: Command, example: string): Command {
  return command
    .option(
      '--address <host:port>',
      `the admin port (ATOLL_ADDRESS; default ${DEFAULT_ADMIN_ADDRESS})`,
    )
    .option('--admin-tls-ca <file>', `${TLS_FLAGS.ca} (ATOLL_ADMIN_TLS_CA)`)
    .option('--admin-tls-cert <file>', `${TLS_FLAGS.cert} (ATOLL_ADMIN_TLS_CERT)`)
    .option('--admin-tls-key <file>', `${TLS_FLAGS.key} (ATOLL_ADMIN_TLS_KEY)`)
    .option('--json', 'print JSON, for scripts')
    .addHelpText('after', `\nExample:\n  ${example.replaceAll('\n', '\n  ')}\n`)
    .showHelpAfterError();
}

export async function runCommand(
  ports: CliPorts,
  flags: Flags,
  run: (session: Session) => Promise<CliExit>,
): Promise<void> {
  const exit = ports.begin();
  const address = textOf(flags['address']) ?? ports.env['ATOLL_ADDRESS'] ?? DEFAULT_ADMIN_ADDRESS;
  // Loaded only here: it brings the contract along, which no other command should wait for.
  const { openAdminClient } = await import('./client.ts');
  const json = flags['json'] === true;
  const show = (value: unknown, text: () => string) =>
    ports.out(json ? `${JSON.stringify(value, null, 2)}\n` : text());
  let client: AdminClient | undefined;
  try {
    client = openAdminClient(ports, { address, tls: await ports.tls(tlsFiles(ports, flags)) });
    exit(await run({ ports, client, json, show }));
  } catch (thrown) {
    if (!(thrown instanceof AtollError)) throw thrown;
    ports.err(`${thrown.message}\n${hintOf(thrown, address)}`);
    exit(thrown.code === 'invalid-argument' ? CLI_EXIT.usage : CLI_EXIT.failed);
  } finally {
    client?.close();
  }
}

function tlsFiles({ env }: CliPorts, flags: Flags): AdminTlsFiles {
  const [ca = '', cert = '', key = ''] = (['Ca', 'Cert', 'Key'] as const).map(
    (part) => textOf(flags[`adminTls${part}`]) ?? env[`ATOLL_ADMIN_TLS_${part.toUpperCase()}`],
  );
  return { ca, cert, key };
}

function hintOf(error: AtollError, address: string): string {
  if (error.code === 'unauthenticated') return 'Set ATOLL_TOKEN to your token.\n';
  if (error.code === 'unimplemented' && error.message.includes(ADMIN_SERVICE)) {
    return `${address} is a router's or a cell's port: give --address the admin port that atoll dev or atoll admin names in its ready line.\n`;
  }
  if (error.code !== 'unavailable' || !error.message.includes(address)) return '';
  return `No admin answers at ${address}: start atoll dev or atoll admin, or give --address. Where its port is under TLS, give --admin-tls-ca, and --admin-tls-cert and --admin-tls-key if it asks for a certificate.\n`;
}

export function textOf(value: Flags[string]): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** For flags that may be given several times. */
export function gather(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}
