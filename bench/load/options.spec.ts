import { parseOptions } from './options';

describe('parseOptions', () => {
  it('keeps the order of the suites whatever the order asked for', () => {
    expect(parseOptions(['--only', 'sse, json']).suites).toEqual(['json', 'sse']);
  });

  it('makes a smoke run short, and lets a flag say otherwise', () => {
    const options = parseOptions(['--smoke', '--rounds', '3']);
    expect(options.seconds).toBeLessThan(1);
    expect(options.rounds).toBe(3);
    expect(options.settle).toBe(0);
  });

  it.each([
    [['--only', 'json,nope'], /unknown 'nope'/],
    [['--rounds', '0'], /--rounds must be a number from 1 to 100/],
    [['--seconds', 'x'], /not 'x'/],
    [['--what'], /--what/],
  ])('refuses %j', (args, message) => {
    expect(() => parseOptions(args)).toThrow(message);
  });
});
