/**
 * List filters: `WorkflowType = 'order' AND (StartTime > '2026-01-01T00:00:00Z' OR ExecutionStatus IN ('Failed'))`.
 *
 *   query   = [ or ] [ GROUP BY ExecutionStatus ]
 *   or      = and { OR and }          and = term { AND term }
 *   term    = ( or ) | attribute test
 *   test    = comparison value | [NOT] BETWEEN value AND value | [NOT] IN ( value {, value} )
 *           | [NOT] STARTS_WITH text | IS [NOT] NULL
 *
 * Refused with a reason: LIKE, ORDER BY, NOT before a term, unknown attributes (BEHAVIOURS 22).
 */
import { WorkflowExecutionStatus } from '../../../wire/enums.ts';
import {
  ATTRIBUTES,
  type Attribute,
  type Comparison,
  type Filter,
  type Query,
  type Value,
} from './filter.ts';
import { tokenise, wrong, type Token } from './tokenise.ts';

/** Deeper nesting, longer lists and more terms are refused (P11). */
const MAX_DEPTH = 50;
const MAX_TERMS = 200;
const MAX_IN_VALUES = 1_000;

const COMPARISONS: Readonly<Record<string, Comparison>> = {
  '=': '=',
  '!=': '!=',
  '<>': '!=',
  '<': '<',
  '<=': '<=',
  '>': '>',
  '>=': '>=',
};

/**
 * @param text the filter; empty = everything
 * @throws AtollError `invalid-argument` naming the place and what is wrong there
 */
export function parseQuery(text: string): Query {
  return new Parser(tokenise(text)).query();
}

class Parser {
  readonly #tokens: readonly Token[];
  #next = 0;
  #terms = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  query(): Query {
    const isBare = this.#is('end') || this.#isWord('GROUP') || this.#isWord('ORDER');
    const filter = isBare ? undefined : this.#or(0);
    const groupByStatus = this.#groupBy();
    const rest = this.#peek();
    if (this.#isWord('ORDER')) {
      throw wrong(
        'ORDER BY is not supported: lists are in order of start time, newest first',
        rest.at,
      );
    }
    if (rest.kind !== 'end') throw wrong(`"${rest.value}" is one word too many`, rest.at);
    return { filter, groupByStatus };
  }

  #groupBy(): boolean {
    if (!this.#takeWord('GROUP')) return false;
    const by = this.#take();
    if (by.value.toUpperCase() !== 'BY') throw wrong('BY is missing after GROUP', by.at);
    const attribute = this.#take();
    if (attribute.value !== 'ExecutionStatus') {
      throw wrong('only GROUP BY ExecutionStatus is supported', attribute.at);
    }
    return true;
  }

  #or(depth: number): Filter {
    let left = this.#and(depth);
    while (this.#takeWord('OR')) left = { kind: 'or', left, right: this.#and(depth) };
    return left;
  }

  #and(depth: number): Filter {
    let left = this.#term(depth);
    while (this.#takeWord('AND')) left = { kind: 'and', left, right: this.#term(depth) };
    return left;
  }

  #term(depth: number): Filter {
    const token = this.#take();
    if (++this.#terms > MAX_TERMS) throw wrong(`it has more than ${MAX_TERMS} terms`, token.at);
    if (token.kind !== 'symbol' || token.value !== '(') return this.#test(attributeOf(token));
    if (depth === MAX_DEPTH) throw wrong(`it nests deeper than ${MAX_DEPTH} parentheses`, token.at);
    const inner = this.#or(depth + 1);
    this.#expectSymbol(')');
    return inner;
  }

  #test(attribute: Attribute): Filter {
    const token = this.#take();
    const operator = token.kind === 'symbol' ? COMPARISONS[token.value] : undefined;
    if (operator !== undefined) {
      const value = this.#value(attribute);
      return { kind: 'compare', attribute, operator, value };
    }
    const word = token.kind === 'word' ? token.value.toUpperCase() : '';
    if (word === 'IS') return this.#isNull(attribute);
    if (word !== 'NOT') return this.#keywordTest(attribute, { token, negated: false });
    return this.#keywordTest(attribute, { token: this.#take(), negated: true });
  }

  #keywordTest(
    attribute: Attribute,
    { token, negated }: { readonly token: Token; readonly negated: boolean },
  ): Filter {
    switch (token.kind === 'word' ? token.value.toUpperCase() : '') {
      case 'BETWEEN': {
        const low = this.#value(attribute);
        const and = this.#peek();
        if (!this.#takeWord('AND')) throw wrong('AND is missing after the first bound', and.at);
        return { kind: 'between', attribute, negated, low, high: this.#value(attribute) };
      }
      case 'IN':
        return { kind: 'in', attribute, negated, values: this.#values(attribute) };
      case 'STARTS_WITH': {
        if (ATTRIBUTES[attribute] !== 'keyword') {
          throw wrong(`STARTS_WITH does not go with ${attribute}`, token.at);
        }
        return { kind: 'starts-with', attribute, negated, prefix: String(this.#value(attribute)) };
      }
      case 'LIKE':
        throw wrong('LIKE is not supported: use STARTS_WITH', token.at);
      default:
        throw wrong(`a comparison is missing after ${attribute}`, token.at);
    }
  }

  #isNull(attribute: Attribute): Filter {
    const negated = this.#takeWord('NOT');
    const token = this.#peek();
    if (!this.#takeWord('NULL')) throw wrong('NULL is missing after IS', token.at);
    return { kind: 'is-null', attribute, negated };
  }

  #values(attribute: Attribute): readonly Value[] {
    const at = this.#peek().at;
    this.#expectSymbol('(');
    const values = [this.#value(attribute)];
    while (this.#takeSymbol(',')) values.push(this.#value(attribute));
    this.#expectSymbol(')');
    if (values.length > MAX_IN_VALUES) throw wrong(`IN has more than ${MAX_IN_VALUES} values`, at);
    return values;
  }

  #value(attribute: Attribute): Value {
    const token = this.#take();
    if (token.kind !== 'text' && token.kind !== 'number') {
      throw wrong(`a value in quotes is missing for ${attribute}`, token.at);
    }
    return valueOf(attribute, token);
  }

  #peek(): Token {
    return this.#tokens[this.#next] ?? { kind: 'end', value: '', at: 1 };
  }

  #take(): Token {
    const token = this.#peek();
    if (token.kind === 'end') throw wrong('it ends too early', token.at);
    this.#next += 1;
    return token;
  }

  #is(kind: Token['kind']): boolean {
    return this.#peek().kind === kind;
  }

  #isWord(word: string): boolean {
    return this.#is('word') && this.#peek().value.toUpperCase() === word;
  }

  #takeWord(word: string): boolean {
    if (!this.#isWord(word)) return false;
    this.#next += 1;
    return true;
  }

  #takeSymbol(symbol: string): boolean {
    if (!this.#is('symbol') || this.#peek().value !== symbol) return false;
    this.#next += 1;
    return true;
  }

  #expectSymbol(symbol: string): void {
    const token = this.#peek();
    if (!this.#takeSymbol(symbol)) throw wrong(`"${symbol}" is missing`, token.at);
  }
}

function attributeOf(token: Token): Attribute {
  if (token.kind !== 'word') throw wrong('the name of an attribute is missing', token.at);
  if (Object.hasOwn(ATTRIBUTES, token.value)) return token.value as Attribute;
  if (token.value.toUpperCase() === 'NOT') {
    throw wrong('NOT before a term is not supported: negate the comparison', token.at);
  }
  const names = Object.keys(ATTRIBUTES).join(', ');
  throw wrong(`there is no attribute "${token.value}"; there are ${names}`, token.at);
}

function valueOf(attribute: Attribute, token: Token): Value {
  switch (ATTRIBUTES[attribute]) {
    case 'keyword':
      return attribute === 'RunId' ? token.value.toLowerCase() : token.value;
    case 'status':
      return statusOf(token);
    case 'time':
      return timeOf(attribute, token);
  }
}

function statusOf(token: Token): number {
  if (token.kind === 'number' && /^\d$/.test(token.value)) return Number(token.value);
  const name = Object.entries(WorkflowExecutionStatus).find(
    ([status, number]) => status.toLowerCase() === token.value.toLowerCase() && number > 0,
  );
  if (name !== undefined) return name[1];
  const all = Object.keys(WorkflowExecutionStatus).slice(1).join(', ');
  throw wrong(`there is no ExecutionStatus "${token.value}"; there are ${all}`, token.at);
}

/** RFC 3339 text, or a number of nanoseconds since 1970, which tools of the contract send. */
function timeOf(attribute: Attribute, token: Token): number {
  const isNanos = token.kind === 'number' || /^\d+$/.test(token.value);
  const ms = isNanos ? Math.floor(Number(token.value) / 1e6) : Date.parse(token.value);
  if (!Number.isSafeInteger(ms)) {
    throw wrong(`${attribute} needs a time such as '2026-01-31T12:00:00Z'`, token.at);
  }
  return ms;
}
