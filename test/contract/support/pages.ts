import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

/** Root of the repository. */
export const ROOT = join(__dirname, '../../..');

const SKIPPED: ReadonlySet<string> = new Set(['node_modules', 'dist', 'coverage', '.git']);

/** Paths, from the root and with `/`, of every file below `folder` that ends with `suffix`. */
export function filesBelow(folder: string, suffix: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : filesBelow(path, suffix);
      return entry.name.endsWith(suffix) ? [relative('.', path).split(sep).join('/')] : [];
    })
    .sort();
}

/** Text of a file, named from the root. */
export function textOf(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** Cells of every Markdown table row of a page, heads and rulers included. */
export function tableRows(page: string): string[][] {
  return page
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

/** Texts of the code spans in a piece of Markdown without code blocks. */
export function codeSpans(markdown: string): string[] {
  return [...markdown.matchAll(/`([^`\n]+)`/g)].map((match) => match[1] ?? '');
}

/** A page cut into its prose and the insides of its fenced blocks. */
export function splitFences(page: string): { readonly prose: string; readonly blocks: string[] } {
  const blocks: string[] = [];
  const prose = page.replaceAll(/^(```+)[^\n]*\n([\s\S]*?)^\1[^\n]*$/gm, (_all, _fence, inside) => {
    blocks.push(String(inside));
    return '';
  });
  return { prose, blocks };
}
