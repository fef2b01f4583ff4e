/** One printable line: what an engine says must not move the cursor of whoever reads it. */
export function plainText(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '\u00b7');
}

/** A value as a cell or a remark shows it. */
export function plainValue(value: unknown): string {
  if (value === null || value === undefined) return '-';
  return plainText(typeof value === 'string' ? value : JSON.stringify(value));
}
