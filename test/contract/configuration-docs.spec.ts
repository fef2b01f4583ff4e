import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { OPTION_TABLE, renderConfigurationDocs } from '@smg/config';

const PAGE = join(__dirname, '../../docs/reference/configuration.md');

describe('docs/reference/configuration.md', () => {
  const page = readFileSync(PAGE, 'utf8');

  it('is what the option table renders; `npm run config:docs` rewrites it', () => {
    expect(page).toBe(renderConfigurationDocs());
  });

  it('documents every flag and every alias', () => {
    const missing = OPTION_TABLE.flatMap(({ flag, aliases }) => [flag, ...aliases]).filter(
      (flag) => !page.includes(`\`--${flag}\``),
    );
    expect(missing).toEqual([]);
  });

  it('gives every table row the same five cells', () => {
    const rows = page.split('\n').filter((line) => line.startsWith('|'));
    expect(rows.length).toBeGreaterThan(OPTION_TABLE.length);
    for (const row of rows) expect(row.replaceAll('\\|', '').split('|')).toHaveLength(7);
  });
});
