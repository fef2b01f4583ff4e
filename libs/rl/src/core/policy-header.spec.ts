import { PolicyHeader } from './policy-header';
import { ANY_VERSION, printVersionPolicy } from './version-policy';

const header = () => new PolicyHeader(ANY_VERSION);

function spelled(value: string): string {
  const read = header().read(value);
  return read.kind === 'fault' ? read.message : printVersionPolicy(read);
}

describe('PolicyHeader', () => {
  it('without a header the configured policy holds', () => {
    expect(header().read(undefined)).toBe(ANY_VERSION);
  });

  it.each([
    ['latest-only', 'latest-only'],
    [' latest-only\t', 'latest-only'],
    ['max-staleness:+2', 'max-staleness:2'],
    ['latest-only, any', 'latest-only'],
    ['min-version:a,b, any', 'min-version:a,b'],
  ])('%j reads as %s', (value, expected) => {
    expect(spelled(value)).toBe(expected);
  });

  it.each([
    ['', 'expected any | latest-only | min-version:<v> | max-staleness:<k>', ''],
    ['newest', 'expected any | latest-only | min-version:<v> | max-staleness:<k>', 'newest'],
    ['newest, any', 'expected any | latest-only | min-version:<v> | max-staleness:<k>', 'newest'],
    ['min-version:a b', 'min-version needs a version with no whitespace', 'min-version:a b'],
    ['any\u00ff', 'header value is not UTF-8', 'any\ufffd'],
    ['\u00c3\u00a9', 'header value is not UTF-8', '\ufffd\ufffd'],
  ])('%j is refused', (value, reason, shown) => {
    expect(spelled(value)).toBe(`invalid version policy \`${shown}\`: ${reason}`);
  });

  it('a long value is shown in part', () => {
    expect(spelled('x'.repeat(10_000)).length).toBeLessThan(400);
  });

  it('the same policy is the same object, however it is spelled', () => {
    const one = header();
    const first = one.read('max-staleness:2');
    expect(one.read('max-staleness:2')).toBe(first);
    expect(one.read(' max-staleness:+02')).toBe(first);
    expect(one.read('any')).toBe(ANY_VERSION);
  });

  it('clients that take turns each get their own', () => {
    const one = header();
    for (let turn = 0; turn < 4; turn++) {
      for (const value of ['latest-only', 'latest-only', 'any', 'max-staleness:3']) {
        const read = one.read(value);
        expect(read.kind === 'fault' ? read.message : printVersionPolicy(read)).toBe(value);
      }
    }
  });

  it('forgets what clients vary, and stays right', () => {
    const one = header();
    for (let floor = 0; floor < 2000; floor++) {
      expect(one.read(`min-version:${floor}`)).toMatchObject({ floor: { text: String(floor) } });
    }
    expect(one.read('min-version:0')).toMatchObject({ floor: { text: '0' } });
  });
});
