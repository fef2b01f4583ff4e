import * as fc from 'fast-check';
import { ResponseReader } from './response-reader';

const WIRE = Buffer.from(
  'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello' +
    'HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n' +
    'HTTP/1.1 100 Continue\r\n\r\n' +
    'HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nx-t: 1\r\n\r\n' +
    'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok',
  'latin1',
);

describe('ResponseReader', () => {
  it('finds the same responses however the bytes are cut', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: WIRE.length - 1 }), { maxLength: 20 }),
        (cuts) => {
          const statuses: number[] = [];
          const reader = new ResponseReader((status) => statuses.push(status));
          const edges = [0, ...[...cuts].sort((a, b) => a - b), WIRE.length];
          for (let i = 1; i < edges.length; i += 1) {
            reader.push(WIRE.subarray(edges[i - 1], edges[i]));
          }
          expect(statuses).toEqual([200, 503, 201, 200]);
        },
      ),
      { numRuns: 100 },
    );
  });

  it.each([
    ['garbage', 'SSH-2.0-OpenSSH_9\r\n\r\n\r\n'],
    ['an answer without a length', 'HTTP/1.1 200 OK\r\n\r\n'],
    ['a bad chunk size', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n'],
  ])('refuses %s', (_name, wire) => {
    const reader = new ResponseReader(() => undefined);
    expect(() => reader.push(Buffer.from(wire))).toThrow();
  });
});
