/**
 * Changes of what a namespace says of itself, pure as table.ts: description, owner, data, retention and custom search
 * attributes. Where it lives is not touched: that is a move.
 */
import { FLEET_LIMITS } from './limits.ts';
import type { FleetMap, Namespace } from './map.ts';
import { namespaceByName, withNamespace, wrongRegistration, type Change } from './table.ts';

/** What shall be otherwise; a field that is missing stays as it is. */
export type NamespaceUpdate = {
  readonly name: string;
  readonly description?: string | undefined;
  readonly ownerEmail?: string | undefined;
  /** Merged into what is there. */
  readonly data?: Readonly<Record<string, string>> | undefined;
  readonly retentionMs?: number | undefined;
  /** Added to what is there, name → type number; a known one keeps its type or the change is refused. */
  readonly addSearchAttributes?: Readonly<Record<string, number>> | undefined;
};

const ATTRIBUTE_NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,254}$/;

/** Makes the change. The name must be registered. */
export function updateNamespace(map: FleetMap, asked: NamespaceUpdate): Change {
  const known = namespaceByName(map, asked.name);
  if (known === undefined) {
    const message = `Namespace ${asked.name} is not registered.`;
    const detail = { type: 'NamespaceNotFoundFailure', value: { namespace: asked.name } };
    return { kind: 'refused', code: 'not-found', message, detail };
  }
  const next: Namespace = {
    ...known,
    description: asked.description ?? known.description,
    ownerEmail: asked.ownerEmail ?? known.ownerEmail,
    data: { ...known.data, ...asked.data },
    retentionMs: asked.retentionMs ?? known.retentionMs,
    customSearchAttributes: { ...known.customSearchAttributes, ...asked.addSearchAttributes },
  };
  const wrong =
    wrongRegistration(next) ?? wrongAttributes(known.customSearchAttributes, asked, next);
  if (wrong !== undefined) return { kind: 'refused', code: 'invalid-argument', message: wrong };
  if (JSON.stringify(next) === JSON.stringify(known)) return { kind: 'unchanged' };
  return withNamespace(map, next);
}

function wrongAttributes(
  known: Namespace['customSearchAttributes'],
  asked: NamespaceUpdate,
  next: Namespace,
): string | undefined {
  for (const [name, type] of Object.entries(asked.addSearchAttributes ?? {})) {
    if (!ATTRIBUTE_NAME.test(name)) {
      return `Search attribute '${name}' is not valid: begin with a letter, then letters, digits, '_', '.' or '-'.`;
    }
    const before = Object.hasOwn(known, name) ? known[name] : type;
    if (before !== type) {
      return `Search attribute ${name} has the type ${before} already and cannot have ${type}: use another name.`;
    }
  }
  const count = Object.keys(next.customSearchAttributes).length;
  if (count <= FLEET_LIMITS.maxSearchAttributes) return undefined;
  return `Namespace ${next.name} would have ${count} search attributes; at most ${FLEET_LIMITS.maxSearchAttributes} (maxSearchAttributes).`;
}
