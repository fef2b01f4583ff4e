/** What a call is called in messages: without its query, which may hold what is nobody's business. */
export function callName({
  method,
  path,
}: {
  readonly method: string;
  readonly path: string;
}): string {
  return `${method} ${path.split('?', 1)[0] ?? ''}`;
}
