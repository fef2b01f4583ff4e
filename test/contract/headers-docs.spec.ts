import * as protocol from '@smg/protocol';
import { codeSpans, filesBelow, splitFences, tableRows, textOf } from './support/pages';

const PAGE = 'docs/reference/headers.md';

/** Every header name that `libs/protocol` defines. */
function namesOfTheWire(): string[] {
  const values: unknown[] = Object.values(protocol);
  const single = values.filter(
    (value): value is string => typeof value === 'string' && /^x-.*[^-]$/.test(value),
  );
  return [...new Set([...single, ...protocol.DEFAULT_REQUEST_ID_HEADERS])].sort();
}

describe(PAGE, () => {
  const listed = tableRows(textOf(PAGE)).flatMap(([first = '']) => codeSpans(first));

  it('lists every header name of libs/protocol', () => {
    const names = namesOfTheWire();
    expect(names.length).toBeGreaterThan(5);
    expect(names.filter((name) => !listed.includes(name))).toEqual([]);
  });

  it('lists no x-smg-* header that libs/protocol does not know', () => {
    const ours = listed.filter((name) => name.startsWith(protocol.SMG_PREFIX));
    expect(ours.length).toBeGreaterThan(0);
    expect(ours.filter((name) => !namesOfTheWire().includes(name))).toEqual([]);
  });
});

describe('user pages', () => {
  const pages = [
    'README.md',
    ...filesBelow('docs', '.md'),
    ...filesBelow('examples', '.md'),
  ].filter(
    // Decisions may speak of what is still to come, and the option table names such headers too.
    (path) => !path.startsWith('docs/adr/') && path !== 'docs/reference/configuration.md',
  );

  it.each(pages)('%s names no x-smg-* header that does not exist', (path) => {
    const { prose, blocks } = splitFences(textOf(path));
    const mentioned = [prose, ...blocks].flatMap(
      (part) => part.match(/\bx-smg-[a-z-]*[a-z]/gi) ?? [],
    );
    const unknown = mentioned.filter((name) => !namesOfTheWire().includes(name.toLowerCase()));
    expect(unknown).toEqual([]);
  });
});
