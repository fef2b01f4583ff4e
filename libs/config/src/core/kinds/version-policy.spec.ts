import { versionPolicy } from './version-policy';

describe('version policy', () => {
  it.each([
    ['any', 'any'],
    ['latest-only', 'latest-only'],
    ['min-version:42', 'min-version:42'],
    ['min-version:step-3', 'min-version:step-3'],
    ['max-staleness:0', 'max-staleness:0'],
    ['max-staleness:+2', 'max-staleness:2'],
    ['max-staleness:007', 'max-staleness:7'],
    ['max-staleness:18446744073709551615', 'max-staleness:18446744073709551615'],
  ])('%s is taken as %s', (text, canonical) => {
    expect(versionPolicy.parse(text)).toEqual({ ok: true, value: canonical });
  });

  const GRAMMAR = 'expected any | latest-only | min-version:<v> | max-staleness:<k>';
  const MIN = 'min-version needs a version with no whitespace';
  const MAX = 'max-staleness needs a decimal integer';
  it.each([
    ['', GRAMMAR],
    ['Any', GRAMMAR],
    [' latest-only', GRAMMAR],
    ['freshest', GRAMMAR],
    ['min-version:', MIN],
    ['min-version:a b', MIN],
    ['max-staleness:', MAX],
    ['max-staleness:x', MAX],
    ['max-staleness:-1', MAX],
    ['max-staleness:1.5', MAX],
    ['max-staleness: 1', MAX],
    ['max-staleness:18446744073709551616', MAX],
  ])('%p is refused, with the value and the reason', (text, reason) => {
    const parsed = versionPolicy.parse(text);
    const shown = /^\S+$/.test(text) ? text : JSON.stringify(text);
    expect(parsed).toEqual({ ok: false, problem: `${shown} - ${reason}` });
  });
});
