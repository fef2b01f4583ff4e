import fc from 'fast-check';
import { closeFrame, FrameWatch } from './frame-watch';

interface Frame {
  readonly opcode: number;
  readonly size: number;
  readonly isMasked: boolean;
}

function bytesOf({ opcode, size, isMasked }: Frame): Buffer {
  const mask = isMasked ? 0x80 : 0;
  const head =
    size < 126
      ? Buffer.from([0x80 | opcode, mask | size])
      : size <= 0xffff
        ? Buffer.from([0x80 | opcode, mask | 126, size >> 8, size & 0xff])
        : Buffer.concat([Buffer.from([0x80 | opcode, mask | 127]), Buffer.alloc(8)]);
  if (size > 0xffff) head.writeBigUInt64BE(BigInt(size), 2);
  // Payloads that look like heads of Close frames.
  return Buffer.concat([head, Buffer.alloc(isMasked ? 4 : 0, 0x88), Buffer.alloc(size, 0x88)]);
}

const frame = fc.record({
  opcode: fc.constantFrom(0, 1, 2, 9, 10),
  size: fc.constantFrom(0, 1, 5, 125, 126, 300, 65_535, 65_536),
  isMasked: fc.boolean(),
});

describe('FrameWatch', () => {
  it('knows where frames end, however they are cut', () => {
    fc.assert(
      fc.property(
        fc.array(frame, { minLength: 1, maxLength: 5 }),
        fc.array(fc.nat(200_000), { maxLength: 6 }),
        (frames, places) => {
          const all = frames.map(bytesOf);
          const bytes = Buffer.concat(all);
          const ends = new Set<number>();
          let end = 0;
          for (const it of all) ends.add((end += it.length));
          const cuts = [...new Set(places.map((it) => it % bytes.length))].sort((a, b) => a - b);
          const watch = new FrameWatch();
          let from = 0;
          for (const to of [...cuts, bytes.length]) {
            const first = watch.see(bytes.subarray(from, to));
            const expected = [...ends].find((it) => it > from && it <= to);
            expect(first).toBe(expected === undefined ? -1 : expected - from);
            expect(watch.isBetweenFrames).toBe(to === 0 || ends.has(to));
            from = to;
          }
          expect(watch.sawClose).toBe(false);
        },
      ),
      { numRuns: 50 },
    );
  });

  it('sees a Close', () => {
    const watch = new FrameWatch();
    watch.see(closeFrame(1001));
    expect([watch.sawClose, watch.isBetweenFrames]).toEqual([true, true]);
  });
});

describe('closeFrame', () => {
  it('says its code, masked for an engine', () => {
    expect([...closeFrame(1001)]).toEqual([0x88, 2, 0x03, 0xe9]);
    const mask = Buffer.from([1, 2, 3, 4]);
    expect([...closeFrame(1001, mask)]).toEqual([0x88, 0x82, 1, 2, 3, 4, 0x03 ^ 1, 0xe9 ^ 2]);
  });
});
