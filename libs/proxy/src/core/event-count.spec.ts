import fc from 'fast-check';
import { EventCount } from './event-count';

const count = (...chunks: string[]): number => {
  const it = new EventCount();
  for (const chunk of chunks) it.see(Buffer.from(chunk));
  return it.value;
};

describe('EventCount', () => {
  it.each([
    ['nothing', '', 0],
    ['an event', 'data: a\n\n', 1],
    ['events of several lines', 'event: x\ndata: a\n\nevent: y\ndata: b\n\n', 2],
    ['carriage returns too', 'data: a\r\n\r\ndata: b\r\n\r\n', 2],
    ['one that is not over', 'data: a\n\ndata: b\n', 1],
    ['line breaks in a text are escaped', String.raw`data: "a\n\nb"` + '\n\n', 1],
  ])('%s', (_, text, events) => {
    expect(count(text)).toBe(events);
  });

  it('is the same wherever the stream is cut', () => {
    const line = fc.constantFrom('data: a', 'event: x', '', 'x');
    const stream = fc
      .array(fc.tuple(line, fc.constantFrom('\n', '\r\n')))
      .map((lines) => lines.flat().join(''));
    fc.assert(
      fc.property(stream, (text) => {
        expect(count(...Array.from(text))).toBe(count(text));
      }),
    );
  });
});
