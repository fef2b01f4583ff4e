import { preferredWait } from './preferred-wait';

describe('preferredWait', () => {
  it.each([
    ['wait=10', 10],
    ['Wait = "10"', 10],
    ['respond-async, wait=0', 0],
    ['wait=5; foo=bar', 5],
    ['wait=5, wait=6', 5],
    ['waiting=5, wait=7', 7],
  ])('%s is %i seconds', (header, seconds) => {
    expect(preferredWait(header)).toBe(seconds);
  });

  it.each([undefined, '', 'respond-async', 'wait', 'wait=', 'wait=-1', 'wait=1.5', 'wait=1e3'])(
    '%s is none',
    (header) => {
      expect(preferredWait(header)).toBeUndefined();
    },
  );
});
