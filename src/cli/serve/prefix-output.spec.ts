import { PassThrough, Writable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { LineBuffer } from './line-buffer';
import { prefixOutput } from './prefix-output';

describe('LineBuffer', () => {
  it('puts lines together from pieces and keeps what is not ended', () => {
    const buffer = new LineBuffer();
    expect(buffer.push('a')).toEqual([]);
    expect(buffer.push('b\nc\r\nd')).toEqual(['ab', 'c']);
    expect(buffer.push('\r')).toEqual(['d']);
    expect(buffer.push('\n\n10%\r20%\r')).toEqual(['10%', '20%']);
    expect(buffer.push('rest')).toEqual([]);
    expect(buffer.end()).toEqual(['rest']);
    expect(buffer.end()).toEqual([]);
  });

  it('holds no more than one line of 16384 characters', () => {
    const buffer = new LineBuffer();
    const lines = buffer.push('x'.repeat(40_000));
    expect(lines.map(({ length }) => length)).toEqual([16_384, 16_384]);
    expect(buffer.push('\n')).toEqual(['x'.repeat(40_000 - 2 * 16_384)]);
  });
});

describe('prefixOutput', () => {
  it('prefixes every line, a torn character and the last one included', async () => {
    const from = new PassThrough();
    let text = '';
    const to = new Writable({
      write(chunk: Buffer, _encoding, done) {
        text += chunk.toString();
        done();
      },
    });
    const done = prefixOutput(from, to, '[e] ');
    const euro = Buffer.from('€\nend');
    from.write(euro.subarray(0, 1));
    from.write(euro.subarray(1));
    from.end();
    await done;
    expect(text).toBe('[e] €\n[e] end\n');
  });

  it('reads no faster than it is read', async () => {
    const from = new PassThrough();
    let release = (): void => undefined;
    const to = new Writable({
      highWaterMark: 8,
      write(_chunk, _encoding, done) {
        release = done;
      },
    });
    void prefixOutput(from, to, '');
    from.write('0123456789\n');
    await turn();
    expect(from.isPaused()).toBe(true);
    release();
    await turn();
    await turn();
    expect(from.isPaused()).toBe(false);
    from.destroy();
  });

  it('reads on when nobody reads what it writes any more', async () => {
    const from = new PassThrough();
    const to = new Writable({ highWaterMark: 8, write: () => undefined });
    to.on('error', () => undefined);
    const done = prefixOutput(from, to, '');
    from.write('0123456789\n');
    await turn();
    expect(from.isPaused()).toBe(true);
    to.destroy(new Error('EPIPE'));
    await turn();
    from.end('0123456789\n');
    await done;
    expect(to.listenerCount('drain')).toBe(0);
  });
});
