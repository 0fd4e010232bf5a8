/** The Authoriser of a cell with a rights document (D18): by bearer token, or by the certificate of caller or router. */
import { CALLER_CERTIFICATE_HEADER } from '../../fleet/call-headers.ts';
import type { Rights } from '../../fleet/rights.ts';
import type { Authoriser, Verb } from './authorise.ts';
import type { FrontendCall } from './frontend-call.ts';

export class RightsAuthoriser implements Authoriser {
  readonly #rights: Rights;

  constructor(rights: Rights) {
    this.#rights = rights;
  }

  async authorise(
    { headers, peer }: Pick<FrontendCall, 'headers' | 'peer'>,
    verb: Verb,
    namespace: string,
  ): Promise<void> {
    const authorization = text(headers['authorization']);
    const reported = text(headers[CALLER_CERTIFICATE_HEADER]);
    this.#rights.check({ authorization, peer, reported }, verb, namespace);
  }
}

function text(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
