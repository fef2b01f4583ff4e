import { type RoutingPolicyFactory } from '@smg/plugin-api';
import { PolicyRegistry } from '@smg/policy';
import { VARIANTS } from '../../bench/simulate/variants';
import { startGateway } from '../support/gateway';
import { codeSpans, tableRows, textOf } from './support/pages';

const PAGE = 'docs/policies.md';

/** The policies a booted gateway has to offer, with no plug-in. */
async function registered(): Promise<string[]> {
  const running = await startGateway({});
  try {
    // Private, and the only place that knows them all.
    const registry: object = running.gateway.app.get(PolicyRegistry);
    const factories = Reflect.get(registry, 'factories') as ReadonlyMap<
      string,
      RoutingPolicyFactory
    >;
    return [...factories.keys()].sort();
  } finally {
    await running.close();
  }
}

/** Names in the headings of the section that explains policies. */
function explained(page: string): string[] {
  return [...page.matchAll(/^### `([a-z_]+)`$/gm)].map((match) => match[1] ?? '').sort();
}

describe(PAGE, () => {
  const page = textOf(PAGE);

  it('explains the policies that are registered, and no other', async () => {
    const names = await registered();
    expect(names.length).toBeGreaterThan(5);
    expect(explained(page)).toEqual(names);
  });

  it('explains each in three sentences', () => {
    const sections = page.split(/^### `/m).slice(1);
    for (const section of sections) {
      const [heading = '', ...rest] = section.split('\n');
      const prose = rest.join('\n').split(/^#/m)[0] ?? '';
      const sentences = prose.replaceAll(/`[^`]*`/g, 'x').match(/[.!?](?=\s|$)/g) ?? [];
      expect([heading, sentences.length]).toEqual([heading, 3]);
    }
  });

  it('says of each when to choose it', async () => {
    const rows = tableRows(page.split(/^## /m).find((part) => part.startsWith('Choose')) ?? '');
    const named = new Set(rows.flatMap(([, second = '']) => codeSpans(second)));
    for (const name of await registered()) expect([...named]).toContain(name);
  });

  it('has results of every policy, and says with which flags each variant ran', async () => {
    const cells = tableRows(page).map(([first = '']) => first.replaceAll('`', ''));
    for (const { name, flags } of VARIANTS) {
      expect(cells).toContain(name);
      if (flags !== '') expect(page).toContain(`\`${flags}\``);
    }
    const simulated = new Set(VARIANTS.map(({ policy }) => policy));
    expect([...simulated].sort()).toEqual(await registered());
  });
});
