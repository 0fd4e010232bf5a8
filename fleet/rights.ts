/**
 * Who may do what in which namespace (D18), as one small document: callers by bearer token or by certificate name.
 * Pure: text in, answers out. Routers hold it for what they answer themselves, cells for everything else.
 *
 * Invariants
 *  1. What is not allowed is refused: an unknown caller, an unknown verb and a namespace that is not named.
 *  2. Tokens are kept as SHA-256 alone, so that the document betrays none.
 *  3. A certificate name that a router reports counts only if the router's own certificate is named as a router's.
 */
import { createHash } from 'node:crypto';
import { AtollError } from '../kernel/errors.ts';

/** What a call needs. `admin`: registering and changing namespaces. */
export const VERBS = ['read', 'write', 'work', 'admin'] as const;
export type Verb = (typeof VERBS)[number];

/** What a call shows of its caller. */
export type Credentials = {
  /** The `authorization` header. */
  readonly authorization?: string | undefined;
  /** The verified certificate name of the connection's other end. */
  readonly peer?: string | undefined;
  /** The certificate name that a router says its client had. */
  readonly reported?: string | undefined;
};

/** As it is written down. */
export type RightsDocument = {
  readonly callers: readonly {
    readonly name: string;
    /** SHA-256 of each token, in hex. */
    readonly tokenSha256?: readonly string[];
    /** Certificate names (CN). */
    readonly certificates?: readonly string[];
    /** Namespace, or `*` for all → verbs. */
    readonly allow: Readonly<Record<string, readonly Verb[]>>;
  }[];
  /** Certificate names of routers. */
  readonly routers?: readonly string[];
};

type Caller = RightsDocument['callers'][number];

const EVERY = '*';
const MAX_CALLERS = 10_000;
const SHA256_HEX = /^[0-9a-f]{64}$/;

export class Rights {
  readonly #byToken = new Map<string, Caller>();
  readonly #byCertificate = new Map<string, Caller>();
  readonly #routers: ReadonlySet<string>;

  /** @throws AtollError `invalid-argument` naming what is wrong with the document */
  constructor(document: RightsDocument) {
    const wrong = wrongDocument(document);
    if (wrong !== undefined) throw new AtollError('invalid-argument', `Rights: ${wrong}.`);
    this.#routers = new Set(document.routers);
    for (const caller of document.callers) {
      for (const token of caller.tokenSha256 ?? []) this.#byToken.set(token, caller);
      for (const name of caller.certificates ?? []) this.#byCertificate.set(name, caller);
    }
  }

  /** @throws AtollError `unauthenticated` or `permission-denied`, saying what is missing */
  check(credentials: Credentials, verb: Verb, namespace: string): void {
    const caller = this.#caller(credentials);
    if (caller === undefined) throw unauthenticated(credentials);
    if (mayDo(caller, verb, namespace)) return;
    throw new AtollError(
      'permission-denied',
      `${caller.name} may not ${verb} in namespace ${namespace}: add the right to the rights file, or use other credentials.`,
      { detail: { type: 'PermissionDeniedFailure', value: { reason: `${verb} is not allowed` } } },
    );
  }

  /** Whether `check` would pass. */
  allows(credentials: Credentials, verb: Verb, namespace: string): boolean {
    const caller = this.#caller(credentials);
    return caller !== undefined && mayDo(caller, verb, namespace);
  }

  #caller({ authorization, peer, reported }: Credentials): Caller | undefined {
    const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
    // A token that is wrong is not made good by a certificate beside it.
    if (token !== undefined) return this.#byToken.get(sha256(token));
    if (peer === undefined) return undefined;
    const name = this.#routers.has(peer) ? reported : peer;
    return name === undefined ? undefined : this.#byCertificate.get(name);
  }
}

function mayDo(caller: Caller, verb: Verb, namespace: string): boolean {
  return verbsOf(caller, namespace).includes(verb) || verbsOf(caller, EVERY).includes(verb);
}

function verbsOf(caller: Caller, namespace: string): readonly Verb[] {
  return Object.hasOwn(caller.allow, namespace) ? (caller.allow[namespace] ?? []) : [];
}

function unauthenticated({ authorization, peer, reported }: Credentials): AtollError {
  const shown = authorization ?? peer ?? reported;
  return new AtollError(
    'unauthenticated',
    shown === undefined
      ? 'This server asks who calls: send the header "authorization: Bearer <token>", or a client certificate.'
      : 'The token or client certificate of this call is not known here: check it against the rights file.',
  );
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function wrongDocument(document: unknown): string | undefined {
  const { callers, routers = [] } = (document ?? {}) as Partial<RightsDocument>;
  if (!Array.isArray(callers)) return 'callers is not a list';
  if (callers.length > MAX_CALLERS) return `more than ${MAX_CALLERS} callers`;
  if (!isTexts(routers)) return 'routers is not a list of certificate names';
  const seen = new Set<string>();
  for (const caller of callers as unknown[]) {
    const wrong = wrongCaller(caller, seen);
    if (wrong !== undefined) return wrong;
  }
  return routers.find((name) => seen.has(name)) === undefined
    ? undefined
    : 'a certificate name is both a router and a caller';
}

function wrongCaller(value: unknown, seen: Set<string>): string | undefined {
  const caller = (value ?? {}) as Partial<Caller>;
  const { name, tokenSha256 = [], certificates = [], allow } = caller;
  if (typeof name !== 'string' || name === '') return 'a caller has no name';
  if (!isTexts(tokenSha256) || tokenSha256.some((hash) => !SHA256_HEX.test(hash)))
    return `tokenSha256 of ${name} is not a list of SHA-256 sums in lower-case hex`;
  if (!isTexts(certificates)) return `certificates of ${name} is not a list of names`;
  const proofs = [...tokenSha256, ...certificates];
  if (proofs.length === 0) return `${name} has neither tokenSha256 nor certificates`;
  for (const proof of proofs) {
    if (seen.has(proof)) return `a token or certificate of ${name} belongs to another caller, too`;
    seen.add(proof);
  }
  if (typeof allow !== 'object' || allow === null) return `${name} has no allow`;
  for (const [namespace, verbs] of Object.entries(allow)) {
    if (!isTexts(verbs) || verbs.some((verb) => !VERBS.includes(verb as Verb)))
      return `${name} in ${namespace}: verbs are ${VERBS.join(', ')}`;
  }
  return undefined;
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string' && one !== '');
}
