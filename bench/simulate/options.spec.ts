import { parseOptions, USAGE } from './options';
import { VARIANTS } from './variants';

describe('options of the simulation', () => {
  it('watches three fleets, one of prefill workers and a sweep unless told otherwise', () => {
    const { scenarios, sweep, variants, seed } = parseOptions([]);
    expect(scenarios.map(({ name }) => name)).toEqual([
      '8 workers',
      '64 workers',
      '512 workers',
      '64 prefill workers',
    ]);
    expect(sweep.length).toBeGreaterThan(3);
    expect(variants).toBe(VARIANTS);
    expect(seed).toBe(1);
  });

  it('takes fleets, policies and rates', () => {
    const options = parseOptions([
      ...['--workers', '3, 5', '--only', 'hash,random', '--rate', '0.5', '--no-prefill'],
      ...['--no-sweep', '--seconds', '30'],
    ]);
    expect(options.scenarios.map(({ workers, rate, seconds }) => [workers, rate, seconds])).toEqual(
      [
        [3, 0.5, 30],
        [5, 0.5, 30],
      ],
    );
    expect(options.sweep).toEqual([]);
    expect(options.variants.map(({ name }) => name)).toEqual([
      'cache_aware hash',
      'prefix_hash',
      'consistent_hashing',
      'random',
    ]);
  });

  it.each([
    [['--workers', '1'], /--workers must be a number from 2/],
    [['--rate', ''], /--rate must be a number/],
    [['--only', 'nobody'], /--only: no such policy; known: 'cache_aware'/],
    [['--quick'], /--quick/],
  ])('refuses %j with a sentence', (args, sentence) => {
    expect(() => parseOptions(args)).toThrow(sentence);
  });

  it('names every variant once, and in its usage', () => {
    const names = VARIANTS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(USAGE).toContain(name);
  });
});
