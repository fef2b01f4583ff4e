import { RL_ERROR_STATUS, parseVersionPolicy } from '@smg/rl';
import { codeSpans, tableRows, textOf } from './support/pages';

/** Rows of a page whose second cell is one code span, by that code. */
function errorsOf(page: string): ReadonlyMap<string, string> {
  return new Map(
    tableRows(page).flatMap(([status = '', second = '']) => {
      const [code] = codeSpans(second);
      return /^\d{3}$/.test(status) && code !== undefined ? [[code, status] as const] : [];
    }),
  );
}

describe('docs/reference/rl-api.md', () => {
  it('lists every error of the RL API with its status, and no other', () => {
    const listed = [...errorsOf(textOf('docs/reference/rl-api.md'))];
    const defined = Object.entries(RL_ERROR_STATUS).map(([code, status]) => [code, String(status)]);
    expect(listed.sort()).toEqual(defined.sort());
  });
});

describe('docs/reference/rl-versions.md', () => {
  it('gives the reason that the gateway gives for each malformed policy', () => {
    const rows = tableRows(textOf('docs/reference/rl-versions.md').replaceAll('\\|', '¦'));
    const checked = rows.flatMap(([inputs = '', last = '']) => {
      const [reason] = codeSpans(last);
      if (reason === undefined || !/^(expected any|m\w+-\w+ needs)/.test(reason)) return [];
      return codeSpans(inputs).map((input) => {
        const parsed = parseVersionPolicy(input);
        const actual = parsed.ok ? 'accepted' : parsed.reason;
        expect(`${input}: ${actual}`).toBe(`${input}: ${reason.replaceAll('¦', '|')}`);
        return input;
      });
    });
    expect(checked.length).toBeGreaterThan(6);
  });
});
