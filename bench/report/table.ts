/** Text tables: columns as wide as their widest cell, numbers to the right, short enough to read. */
import { aimText, figureOf } from './figures.ts';
import type { Result, Verdict } from './result.ts';

export type Column = { readonly title: string; readonly align: 'left' | 'right' };

const VERDICTS: Readonly<Record<Verdict, string>> = {
  met: 'met',
  'not met': 'NOT MET',
  'no aim': '',
  'does not count': 'does not count',
};

/** Lines of a table, the titles underlined. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
): readonly string[] {
  const widths = columns.map(({ title }, i) =>
    Math.max(title.length, ...rows.map((row) => (row[i] ?? '').length)),
  );
  const line = (cells: readonly string[]) =>
    columns
      .map(({ align }, i) => {
        const [cell = '', width = 0] = [cells[i], widths[i]];
        return align === 'left' ? cell.padEnd(width) : cell.padStart(width);
      })
      .join('  ')
      .trimEnd();
  const titles = columns.map(({ title }) => title);
  return [line(titles), widths.map((width) => '-'.repeat(width)).join('  '), ...rows.map(line)];
}

/** Figure, measured, aim, the peer's, met or not. */
export function resultTable(results: readonly Result[]): readonly string[] {
  const rows = results.map(({ name, value, verdict }) => {
    const { label, unit, aim, peer = '' } = figureOf(name);
    return [label, `${short(value)} ${unit}`.trim(), aimText(aim), peer, VERDICTS[verdict]];
  });
  return table(
    [
      { title: 'figure', align: 'left' },
      { title: 'measured', align: 'right' },
      { title: 'aim', align: 'right' },
      { title: 'peer', align: 'right' },
      { title: '', align: 'left' },
    ],
    rows,
  );
}

/** Three digits that say something: 123, 12.3, 1.23, 0.0123. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return '?';
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size >= 100) return value.toFixed(0);
  if (size >= 10) return value.toFixed(1);
  if (size >= 1) return value.toFixed(2);
  return value.toPrecision(2);
}
