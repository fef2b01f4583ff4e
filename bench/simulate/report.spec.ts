import { seconds } from './charts';
import { placeBetweenMarks } from './report';

describe('report of a simulation', () => {
  it('replaces what is between the marks of a page, and nothing else', () => {
    const page = 'a\n<!-- simulate:begin -->\n\nold\n\n<!-- simulate:end -->\nb\n';
    const renewed = placeBetweenMarks(page, 'new\n');
    expect(renewed).toBe('a\n<!-- simulate:begin -->\n\nnew\n\n<!-- simulate:end -->\nb\n');
    expect(placeBetweenMarks(renewed, 'new\n')).toBe(renewed);
    expect(() => placeBetweenMarks('a', 'new')).toThrow('has no <!-- simulate:begin -->');
  });

  it.each([
    [50, '0.05 s'],
    [1_540, '1.5 s'],
    [12_400, '12 s'],
    [123_456, '123 s'],
  ])('writes %d ms as %s', (ms, text) => {
    expect(seconds(ms)).toBe(text);
  });
});
