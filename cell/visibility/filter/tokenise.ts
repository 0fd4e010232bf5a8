/** The text of a list filter as words, with their places for error messages. */
import { AtollError } from '../../../kernel/errors.ts';

export type Token = {
  readonly kind: 'word' | 'text' | 'number' | 'symbol' | 'end';
  /** A word or symbol as written, text without its quotes. */
  readonly value: string;
  /** Place of the first character, from 1. */
  readonly at: number;
};

/** Longer filters are refused (P11). */
export const MAX_FILTER_LENGTH = 20_000;

const SPACE = /\s+/y;
const WORD = /[A-Za-z_][A-Za-z0-9_]*/y;
const NUMBER = /-?\d+(\.\d+)?/y;
const SYMBOL = /!=|<>|<=|>=|=|<|>|\(|\)|,/y;

/** @throws AtollError `invalid-argument` naming the place */
export function tokenise(text: string): readonly Token[] {
  if (text.length > MAX_FILTER_LENGTH) {
    throw wrong(`it has ${text.length} characters; at most ${MAX_FILTER_LENGTH} are allowed`, 1);
  }
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const space = match(SPACE, text, at);
    if (space !== undefined) {
      at += space.length;
      continue;
    }
    const { token, length } = next(text, at);
    tokens.push(token);
    at += length;
  }
  return [...tokens, { kind: 'end', value: '', at: text.length + 1 }];
}

function next(text: string, at: number): { readonly token: Token; readonly length: number } {
  const place = at + 1;
  const quote = text[at];
  if (quote === "'" || quote === '"') return quoted(text, at, quote);
  if (quote === '`') {
    const end = text.indexOf('`', at + 1);
    if (end < 0) throw wrong('a ` is not closed', place);
    return {
      token: { kind: 'word', value: text.slice(at + 1, end), at: place },
      length: end + 1 - at,
    };
  }
  for (const [kind, pattern] of [
    ['word', WORD],
    ['number', NUMBER],
    ['symbol', SYMBOL],
  ] as const) {
    const value = match(pattern, text, at);
    if (value !== undefined) return { token: { kind, value, at: place }, length: value.length };
  }
  throw wrong(`the character ${JSON.stringify(text[at])} means nothing here`, place);
}

/** Text in single or double quotes; inside, the quote is written twice or after a backslash, a backslash twice. */
function quoted(text: string, start: number, quote: string) {
  let value = '';
  for (let at = start + 1; at < text.length; at++) {
    const char = text[at];
    const after = text[at + 1];
    if (char === '\\' && (after === quote || after === '\\')) {
      value += after;
      at++;
    } else if (char !== quote) {
      value += char;
    } else if (after === quote) {
      value += quote;
      at++;
    } else {
      const token: Token = { kind: 'text', value, at: start + 1 };
      return { token, length: at + 1 - start };
    }
  }
  throw wrong(`the text that begins with ${quote} is not closed`, start + 1);
}

function match(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

/** What is wrong with a filter, and where. */
export function wrong(what: string, at: number): AtollError {
  return new AtollError(
    'invalid-argument',
    `The list filter is not valid at character ${at}: ${what}.`,
  );
}
