import { plainText } from './plain-text';

/** Columns under their heads, two blanks apart; the last one is not padded. */
export function renderTable(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const lines = [heads, ...rows].map((row) => row.map(plainText));
  const widths = heads.map((_, column) =>
    Math.max(...lines.map((line) => (line[column] ?? '').length)),
  );
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - cell.length))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
