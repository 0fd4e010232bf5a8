/** Positions in a table's key order, as the text of a page's continuation. */
import { AtollError } from '../../../kernel/errors.ts';

/** Sorts before every id that is in use. */
export const NIL_UUID = '00000000-0000-0000-0000-000000000000';

export function encodeCursor(parts: readonly string[]): string {
  return parts.join(' ');
}

/** The parts of a continuation, or `first` where there is none yet. */
export function decodeCursor(
  cursor: string | undefined,
  first: readonly string[],
): readonly string[] {
  if (cursor === undefined) return first;
  const parts = cursor.split(' ');
  if (parts.length === first.length) return parts;
  throw new AtollError(
    'invalid-argument',
    'this page position is not one of this list: start again without it',
  );
}
