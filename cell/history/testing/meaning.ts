/**
 * What a value of the contract means, for comparing: over the wire an explicit default (0, '', an empty list) and an
 * absent field are the same, so both are left out. Maps become lists of entries, in their order.
 */
export function meaning(value: unknown): unknown {
  if (value instanceof Map) return [...value].map((entry) => meaning(entry));
  if (value instanceof Uint8Array) return [...value];
  if (Array.isArray(value)) return value.map((item: unknown) => meaning(item));
  if (typeof value !== 'object' || value === null) return value;
  const kept: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value)) {
    if (!isDefault(field)) kept[name] = meaning(field);
  }
  return kept;
}

function isDefault(value: unknown): boolean {
  if (value === undefined || value === 0 || value === '' || value === false) return true;
  return (Array.isArray(value) || value instanceof Uint8Array) && value.length === 0;
}
