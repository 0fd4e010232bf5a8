/**
 * Options of a role: typed, named alike as flag, environment variable and field, and checked once at start.
 *
 * Place: a role's config.ts declares its options; bin/ hands flags and environment over; the role gets one
 * frozen object. `leaseTtlMs` is `--lease-ttl-ms` and `ATOLL_LEASE_TTL_MS`.
 *
 * Invariants
 *  1. A flag beats the environment, the environment beats the default.
 *  2. The result is complete and in range, and every relation holds; otherwise all complaints come at once,
 *     each naming its flag.
 */
import { AtollError } from './errors.ts';
import { invariant } from './invariant.ts';

type Described = {
  /** What it means and why one would change it, a sentence for `--help`. */
  readonly meaning: string;
};

export type NumberOption = Described & {
  readonly kind: 'number';
  readonly default: number;
  /** Both included. */
  readonly min: number;
  readonly max: number;
};
export type TextOption = Described & {
  readonly kind: 'text';
  /** Without one the option is required. */
  readonly default?: string;
  /** The only values allowed, where there are few. */
  readonly oneOf?: readonly string[];
  /** Never shown in `--help`, logs or errors. */
  readonly secret?: boolean;
};
export type SwitchOption = Described & { readonly kind: 'switch'; readonly default: boolean };

export type Option = NumberOption | TextOption | SwitchOption;
export type Options = Readonly<Record<string, Option>>;

type ValueOf<O extends Option> = O extends NumberOption
  ? number
  : O extends SwitchOption
    ? boolean
    : O extends { readonly oneOf: readonly (infer Value)[] }
      ? Value
      : string;

/** The resolved options. */
export type Config<Declared extends Options> = {
  readonly [Name in keyof Declared]: ValueOf<Declared[Name]>;
};

/** A relation between options: its sentence names the flags, such as `--a-ms must be below --b-ms`. */
export type Relation<Declared extends Options> = {
  readonly holds: (config: Config<Declared>) => boolean;
  readonly sentence: string;
};

export type ConfigSources = {
  /** By field name, as a flag parser hands them over; undefined means not given. */
  readonly flags: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly env: Readonly<Record<string, string | undefined>>;
};

const FIELD_NAME = /^[a-z][a-z0-9]*([A-Z][a-z0-9]*)*$/;

/** `leaseTtlMs` → `--lease-ttl-ms`. */
export function flagOf(field: string): string {
  return `--${field.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** `leaseTtlMs` → `ATOLL_LEASE_TTL_MS`. */
export function envOf(field: string): string {
  return `ATOLL_${field.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

/**
 * Resolves and checks the options.
 * @throws `invalid-argument` with one line per complaint, each naming flag and environment variable
 */
export function resolveConfig<const Declared extends Options>(
  declared: Declared,
  sources: ConfigSources,
  relations: readonly Relation<Declared>[] = [],
): Config<Declared> {
  const complaints: string[] = [];
  const values: Record<string, string | number | boolean> = {};
  for (const [field, option] of Object.entries(declared)) {
    invariant(FIELD_NAME.test(field), `option ${field} is not in camel case`);
    const raw = sources.flags[field] ?? sources.env[envOf(field)] ?? option.default;
    const parsed = raw === undefined ? 'is required' : parse(option, raw);
    if (typeof parsed === 'object') values[field] = parsed.value;
    else complaints.push(`${flagOf(field)} (or ${envOf(field)}) ${parsed}`);
  }
  // The loop has put in a value of the declared kind for every field, or complained.
  const config = Object.freeze(values) as Config<Declared>;
  if (complaints.length === 0) {
    for (const relation of relations) {
      if (!relation.holds(config)) complaints.push(relation.sentence);
    }
  }
  if (complaints.length > 0) throw new AtollError('invalid-argument', complaints.join('\n'));
  return config;
}

/** The lines of `--help`, one per option. */
export function describeOptions(declared: Options): readonly string[] {
  return Object.entries(declared).map(
    ([field, option]) =>
      `${flagOf(field)}  ${option.meaning} (${rangeOf(option)}; ${envOf(field)})`,
  );
}

function rangeOf(option: Option): string {
  switch (option.kind) {
    case 'number':
      return `${option.min} to ${option.max}, default ${option.default}`;
    case 'switch':
      return option.default ? 'on by default' : 'off by default';
    case 'text': {
      const values = option.oneOf === undefined ? '' : `${option.oneOf.join(' | ')}, `;
      const known = option.secret === true ? 'secret' : `default ${option.default ?? ''}`;
      return values + (option.default === undefined ? 'required' : known);
    }
  }
}

/** The value, or what is wrong with it. */
function parse(
  option: Option,
  raw: string | number | boolean,
): { readonly value: string | number | boolean } | string {
  switch (option.kind) {
    case 'number': {
      const value = typeof raw === 'string' && raw.trim() === '' ? Number.NaN : Number(raw);
      const fits = Number.isFinite(value) && value >= option.min && value <= option.max;
      const range = `a number from ${option.min} to ${option.max}`;
      return fits ? { value } : `must be ${range}, not ${JSON.stringify(raw)}`;
    }
    case 'switch': {
      const text = String(raw).toLowerCase();
      if (text === 'true' || text === '1') return { value: true };
      if (text === 'false' || text === '0') return { value: false };
      return `must be true or false, not ${JSON.stringify(raw)}`;
    }
    case 'text': {
      const value = String(raw);
      if (option.oneOf === undefined || option.oneOf.includes(value)) return { value };
      const shown = option.secret === true ? 'what was given' : JSON.stringify(raw);
      return `must be one of ${option.oneOf.join(', ')}, not ${shown}`;
    }
  }
}
