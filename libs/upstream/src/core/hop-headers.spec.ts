import fc from 'fast-check';
import { buildRequestHeaders, readResponseHeaders } from './hop-headers';

const open = { passAuthorization: true, workerKey: undefined };
const valuesOf = (flat: readonly string[], name: string): string[] =>
  flat.filter((_, i) => i % 2 === 1 && flat[i - 1]?.toLowerCase() === name);

const anyName = fc.oneof(
  fc.constantFrom(
    'content-length',
    'transfer-encoding',
    'host',
    'connection',
    'authorization',
    'x-request-id',
    'x-request-id-2',
    'traceparent',
    'x-smg-routing-key',
    'x-smg-weight-version',
    'cookie',
    'te',
  ),
  fc.string(),
);
const anyList = fc
  .array(fc.tuple(anyName, fc.oneof(fc.string(), fc.constantFrom('a\r\nb: c', 'x\0y', '5'))))
  .map((pairs) => pairs.flat());

describe('headers to an engine', () => {
  it('keeps the allow-list and drops everything else', () => {
    const out = buildRequestHeaders(
      [
        'cookie',
        'a=1',
        'x-request-id',
        'r1',
        'x-request-id-span',
        's',
        'user-agent',
        'u',
        'tracestate',
        't',
      ],
      open,
      true,
    );
    expect(out).toEqual([
      'accept-encoding', 'identity', 'content-type', 'application/json',
      'x-request-id', 'r1', 'x-request-id-span', 's', 'tracestate', 't',
    ]); // prettier-ignore
  });

  it.each([
    ['client wins while no serving key is configured', true, 'W', ['Bearer C'], ['Bearer C']],
    ['a consumed header is replaced by the worker key', false, 'W', ['Bearer C'], ['Bearer W']],
    ['a consumed header leaves nothing without a worker key', false, undefined, ['Bearer C'], []],
    ['the worker key is sent when the client has none', true, 'W', [], ['Bearer W']],
    ['two client headers become one', true, 'W', ['Bearer C', 'Bearer D'], ['Bearer C']],
  ])('%s', (_, passAuthorization, workerKey, sent, expected) => {
    const flat = sent.flatMap((value) => ['authorization', value]);
    const out = buildRequestHeaders(flat, { passAuthorization, workerKey }, false);
    expect(valuesOf(out, 'authorization')).toEqual(expected);
  });

  it('never lets a control character or a framing header out', () => {
    fc.assert(
      fc.property(anyList, fc.boolean(), (list, hasBody) => {
        const out = buildRequestHeaders(list, { passAuthorization: true, workerKey: 'k' }, hasBody);
        expect(out.some((part) => /[\r\n\0]/.test(part))).toBe(false);
        for (const name of [
          'content-length',
          'transfer-encoding',
          'host',
          'connection',
          'expect',
        ]) {
          expect(valuesOf(out, name)).toEqual([]);
        }
        expect(valuesOf(out, 'authorization').length).toBeLessThanOrEqual(1);
        expect(valuesOf(out, 'content-type').length).toBe(hasBody ? 1 : 0);
      }),
    );
  });
});

describe('headers from an engine', () => {
  it('keeps repeats and content-encoding, drops hop-by-hop, named and gateway headers', () => {
    const { headers } = readResponseHeaders([
      'Set-Cookie', 'a', 'set-cookie', 'b', 'Content-Encoding', 'gzip', 'Connection', 'X-Private, close',
      'x-private', '1', 'X-SMG-Routed-Worker-Id', 'forged', 'Keep-Alive', 'timeout=5', 'X-Worker', 'w',
    ]); // prettier-ignore
    expect(headers).toEqual([
      'Set-Cookie', 'a', 'set-cookie', 'b', 'Content-Encoding', 'gzip', 'X-Worker', 'w',
    ]); // prettier-ignore
  });

  it('reads framing and the content type', () => {
    const found = readResponseHeaders([
      'Content-Length',
      '12',
      'Content-Type',
      'Text/Event-Stream; charset=utf-8',
    ]);
    expect(found.contentLength).toBe(12);
    expect(found.eventStream).toBe(true);
    expect(readResponseHeaders(['Transfer-Encoding', 'chunked']).chunked).toBe(true);
    expect(readResponseHeaders(['content-length', '1x']).contentLength).toBe(-1);
  });

  it.each([
    [['Chunked'], true, false],
    [['identity'], false, false],
    [['gzip'], false, true],
    [['gzip, chunked'], false, true],
    [['gzip', 'chunked'], true, true],
  ])(
    'tells transfer codings %j apart: chunked %s, foreign %s',
    (values, chunked, foreignCoding) => {
      const raw = values.flatMap((value) => ['Transfer-Encoding', value]);
      expect(readResponseHeaders(raw)).toMatchObject({ chunked, foreignCoding });
    },
  );

  it('relays no framing header and no control character, whatever arrives', () => {
    fc.assert(
      fc.property(anyList, (list) => {
        const { headers } = readResponseHeaders(list);
        expect(headers.some((part, i) => i % 2 === 1 && /[\r\n\0]/.test(part))).toBe(false);
        for (const name of [
          'content-length',
          'transfer-encoding',
          'connection',
          'x-smg-weight-version',
        ]) {
          expect(valuesOf(headers, name)).toEqual([]);
        }
      }),
    );
  });
});
