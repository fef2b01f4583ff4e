/** Sum of the samples of a metric whose labels include all of `labels`; 0 when there is none. */
export function sample(
  page: string,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  let sum = 0;
  for (const line of page.split('\n')) {
    const match = /^([a-zA-Z_:][\w:]*)(\{.*\})? (\S+)$/.exec(line);
    if (match?.[1] !== name) continue;
    const text = match[2] ?? '';
    const fits = Object.entries(labels).every(([key, value]) => text.includes(`${key}="${value}"`));
    if (fits) sum += Number(match[3]);
  }
  return sum;
}
