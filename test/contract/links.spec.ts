import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { filesBelow, ROOT, splitFences, textOf } from './support/pages';

interface Link {
  readonly target: string;
  readonly fragment: string | undefined;
}

/** Links of a page that point into the repository. */
function linksOf(page: string): Link[] {
  const { prose } = splitFences(page);
  const withoutSpans = prose.replaceAll(/`[^`\n]*`/g, '');
  return [...withoutSpans.matchAll(/\]\(([^)\s]+)(?:\s+"[^"]*")?\)/g)]
    .map((match) => match[1] ?? '')
    .filter((link) => !/^[a-z][a-z+.-]*:/i.test(link))
    .map((link) => {
      const [target = '', fragment] = link.split('#', 2);
      return { target, fragment };
    });
}

/** The name a heading is linked by. */
function slugOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');
}

/** Everything in a page a `#fragment` can point at. */
function anchorsOf(page: string): Set<string> {
  const { prose } = splitFences(page);
  const headings = [...prose.matchAll(/^#{1,6}\s+(.+)$/gm)].map((match) => slugOf(match[1] ?? ''));
  const named = [...prose.matchAll(/<a id="([^"]+)">/g)].map((match) => match[1] ?? '');
  return new Set([...headings, ...named]);
}

describe('links between pages', () => {
  const pages = filesBelow('.', '.md');

  it('finds the pages', () => {
    expect(pages).toEqual(expect.arrayContaining(['README.md', 'docs/index.md']));
  });

  it.each(pages)('%s: every relative link leads somewhere', (path) => {
    const broken = linksOf(textOf(path))
      .filter(({ target, fragment }) => {
        const file = target === '' ? path : join(dirname(path), decodeURIComponent(target));
        if (!existsSync(join(ROOT, file))) return true;
        if (fragment === undefined || statSync(join(ROOT, file)).isDirectory()) return false;
        return file.endsWith('.md') && !anchorsOf(textOf(file)).has(fragment);
      })
      .map(({ target, fragment }) => (fragment === undefined ? target : `${target}#${fragment}`));
    expect(broken).toEqual([]);
  });

  it('docs/index.md reaches every page of docs/ but the decisions', () => {
    const reached = linksOf(textOf('docs/index.md')).map(({ target }) => join('docs', target));
    const others = filesBelow('docs', '.md').filter(
      (path) => path !== 'docs/index.md' && !path.startsWith('docs/adr/'),
    );
    expect(others.filter((path) => !reached.includes(path))).toEqual([]);
  });
});
