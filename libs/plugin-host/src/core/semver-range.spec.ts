import fc from 'fast-check';
import { satisfiesRange } from './semver-range';

describe('satisfiesRange', () => {
  it.each([
    ['1.0.0', '1.0.0', true],
    ['1.0.1', '1.0.0', false],
    ['1.0.0', '1', true],
    ['1.4.2', '^1.0.0', true],
    ['1.4.2', '^1', true],
    ['1.4.2', '^1.5', false],
    ['2.0.0', '^1.0.0', false],
    ['0.2.9', '^0.2.3', true],
    ['0.3.0', '^0.2.3', false],
    ['0.0.4', '^0.0.3', false],
    ['1.2.9', '~1.2.3', true],
    ['1.3.0', '~1.2.3', false],
    ['1.9.0', '~1', true],
    ['9.0.0', '>=1.2', true],
    ['1.1.9', '>= 1.2', false],
  ])('%s in %s: %s', (version, range, expected) => {
    expect(satisfiesRange(version, range)).toBe(expected);
  });

  it.each(['', 'latest', '1.x', '^1.0.0 || ^2.0.0', '1.0.0-beta', '<2', '^', '1.0.0.0'])(
    'cannot read %j',
    (range) => {
      expect(satisfiesRange('1.0.0', range)).toBeUndefined();
    },
  );

  it('a caret range holds every later minor and no later major', () => {
    const part = fc.nat(50);
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        part,
        part,
        part,
        (major, minor, patch, more) => {
          const range = `^${major}.${minor}.${patch}`;
          expect(satisfiesRange(`${major}.${minor + more}.${patch}`, range)).toBe(true);
          expect(satisfiesRange(`${major + 1 + more}.${minor}.${patch}`, range)).toBe(false);
        },
      ),
    );
  });
});
