import fc from 'fast-check';
import { boundaryOf, readPartHead } from './multipart-head';
import { MultipartParser } from './multipart-parser';
import { editChunks, TranscriptionForm } from './transcription-form';

const BOUNDARY = 'b-1';
const part = (name: string, value: string | Buffer, more = ''): Buffer =>
  Buffer.concat([
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n`),
    Buffer.from(value),
    Buffer.from('\r\n'),
  ]);
const form = (...parts: readonly Buffer[]): Buffer =>
  Buffer.concat([...parts, Buffer.from(`--${BOUNDARY}--\r\n`)]);

/** Cuts bytes at the given places. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [...new Set(places.map((it) => it % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((from, i) => bytes.subarray(from, at[i] ?? bytes.length));
}

interface Seen {
  name: string;
  from: number;
  to: number;
  value: string;
}

function parse(chunks: readonly Buffer[]): { parts: Seen[]; problem: string | undefined } {
  const parts: Seen[] = [];
  const last = (): Seen => parts.at(-1) ?? { name: '', from: 0, to: 0, value: '' };
  const parser = new MultipartParser(BOUNDARY, {
    onPart: (head, _headAt, from) => parts.push({ name: head.name, from, to: from, value: '' }),
    onPartData: (bytes) => (last().value += bytes.toString('latin1')),
    onPartEnd: (to) => (last().to = to),
  });
  for (const chunk of chunks) {
    const problem = parser.write(chunk);
    if (problem !== undefined) return { parts, problem };
  }
  return { parts, problem: parser.end() };
}

// Pieces of boundaries, line ends and other things a careless search falls over.
const TRICKY = ['\r\n', '--', BOUNDARY, `\r\n--${BOUNDARY.slice(0, -1)}`, '\r', '\n', 'x', '\0'];
const value = fc
  .array(fc.constantFrom(...TRICKY), { maxLength: 12 })
  .map((it) => it.join(''))
  .filter((it) => !`\r\n${it}`.includes(`\r\n--${BOUNDARY}`));

describe('MultipartParser', () => {
  it('sees the same parts however the bytes are cut, and says where they are', () => {
    fc.assert(
      fc.property(
        fc.array(value, { minLength: 1, maxLength: 4 }),
        fc.array(fc.nat(2_000), { maxLength: 8 }),
        (values, places) => {
          const bytes = form(...values.map((it, at) => part(`n${at}`, Buffer.from(it, 'latin1'))));
          const { parts, problem } = parse(cut(bytes, places));
          expect(problem).toBeUndefined();
          expect(parts.map(({ name, value: text }) => [name, text])).toEqual(
            values.map((it, at) => [`n${at}`, it]),
          );
          for (const { from, to, value: text } of parts) {
            expect(bytes.toString('latin1', from, to)).toBe(text);
          }
        },
      ),
    );
  });

  it('byte by byte too', () => {
    const bytes = form(part('a', 'one'), part('b', ''));
    const { parts, problem } = parse(Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)));
    expect([problem, parts.map(({ value: text }) => text)]).toEqual([undefined, ['one', '']]);
  });

  it('takes no form that is cut off for a whole one', () => {
    const bytes = form(part('a', 'one'));
    for (let end = 0; end < bytes.length - 2; end += 1) {
      expect(parse([bytes.subarray(0, end)]).problem).toBeDefined();
    }
  });

  it.each([
    ['a preamble', Buffer.concat([Buffer.from('x\r\n'), form(part('a', '1'))])],
    ['an epilogue', Buffer.concat([form(part('a', '1')), Buffer.from('\r\nx')])],
    ['padding behind a boundary', Buffer.from(`--${BOUNDARY} \r\n`)],
    ['bare line feeds', Buffer.from(form(part('a', '1')).toString().replaceAll('\r\n', '\n'))],
    [
      'an endless head',
      Buffer.concat([Buffer.from(`--${BOUNDARY}\r\n`), Buffer.alloc(9_000, 'h')]),
    ],
    ['no name', Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data\r\n\r\n`)],
  ])('refuses %s', (_title, bytes) => {
    expect(parse([bytes]).problem).toBeDefined();
  });
});

describe('heads of parts', () => {
  it.each([
    ['Content-Disposition: form-data; name="file"; filename="a.wav"', 'file', true],
    ['content-disposition: form-data;name=model', 'model', false],
    ['Content-Type: a/b\r\nContent-Disposition: form-data; name="a\\"b"', 'a"b', false],
    ["Content-Disposition: form-data; name=f; filename*=utf-8''a", 'f', true],
  ])('%j', (text, name, hasFileName) => {
    const result = readPartHead(text);
    expect(result.ok && [result.head.name, result.head.hasFileName]).toEqual([name, hasFileName]);
  });

  it.each([
    'Content-Disposition: form-data; name=a; name=b',
    'Content-Disposition: form-data; name="a',
    'Content-Disposition: attachment; name=a',
    'Content-Disposition: form-data; name=a\r\nContent-Disposition: form-data; name=b',
    'Content-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: base64',
    'Content-Disposition: form-data; name=a\r\n folded: x',
    'Content-Disposition: form-data; name="a\nb"',
    'Content-Type: a/b',
    '',
  ])('refuses %j', (text) => {
    expect(readPartHead(text).ok).toBe(false);
  });

  it.each([
    ['multipart/form-data; boundary=abc', 'abc'],
    ['Multipart/Form-Data; charset=utf-8; boundary="a b"', 'a b'],
    ['multipart/form-data; boundary=a; boundary=b', undefined],
    ['multipart/form-data; boundary="a "', undefined],
    [`multipart/form-data; boundary=${'x'.repeat(71)}`, undefined],
    ['multipart/form-data', undefined],
    ['multipart/mixed; boundary=a', undefined],
    ['multipart/form-data; boundary=a, multipart/form-data; boundary=b', undefined],
    [undefined, undefined],
  ])('boundary of %j: %j', (type, boundary) => {
    expect(boundaryOf(type)).toBe(boundary);
  });
});

describe('TranscriptionForm', () => {
  const audio = part('file', 'RIFF', '; filename="a"');

  it('changes the model alone, wherever chunks are cut', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(500), { maxLength: 8 }),
        fc.constantFrom('', ' ', 'a-much-longer-name-than-before'),
        fc.boolean(),
        (places, sent, isFirst) => {
          const of = (model: string): Buffer =>
            isFirst ? form(part('model', model), audio) : form(audio, part('model', model));
          const chunks = cut(of(`x${sent}`), places);
          const subject = new TranscriptionForm(BOUNDARY);
          for (const chunk of chunks) expect(subject.write(chunk)).toBeUndefined();
          expect(subject.end()).toMatchObject({ ok: true, fields: { model: `x${sent}`.trim() } });
          const got = Buffer.concat(editChunks(chunks, subject.editsFor('canonical')));
          expect(got.toString('latin1')).toBe(of('canonical').toString('latin1'));
        },
      ),
    );
  });

  it('does not copy what it does not change', () => {
    const chunks = cut(form(audio, part('model', 'x')), [30, 60]);
    const [first] = editChunks(chunks, [{ from: 100, to: 101, text: 'y' }]);
    expect(first?.buffer).toBe(chunks[0]?.buffer);
  });
});
