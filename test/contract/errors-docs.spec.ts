import { ERROR_CODES, WORKER_API_CODES } from '@smg/protocol';
import { textOf } from './support/pages';

const PAGE = 'docs/reference/errors.md';

/** Code of an anchor to the text up to the next anchor. */
function sectionsOf(page: string): ReadonlyMap<string, string> {
  const [, ...parts] = page.split(/^<a id="/m);
  return new Map(
    parts.map((part) => {
      const end = part.indexOf('"></a>');
      return [part.slice(0, end), part.slice(end)] as const;
    }),
  );
}

describe(PAGE, () => {
  const sections = sectionsOf(textOf(PAGE));
  const codes = { ...ERROR_CODES, ...WORKER_API_CODES };

  it('has a section for every code, and none for a code that does not exist', () => {
    expect([...sections.keys()].sort()).toEqual(Object.keys(codes).sort());
  });

  it.each(Object.entries(codes))('%s: its section states its heading and status', (code, entry) => {
    const section = sections.get(code) ?? '';
    expect(section).toContain(`### ${code}\n`);
    expect(section).toMatch(new RegExp(String.raw`^Status ${entry.status}\b`, 'm'));
  });
});
