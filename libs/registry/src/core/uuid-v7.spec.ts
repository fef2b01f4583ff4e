import { createUuidV7, isUuid } from './uuid-v7';

const ones = (size: number): Uint8Array => new Uint8Array(size).fill(0xff);

describe('createUuidV7', () => {
  it('writes time, version and variant where RFC 9562 puts them', () => {
    const id = createUuidV7(() => 0x017f22e279b0, ones)();
    expect(id).toBe('017f22e2-79b0-77ff-bfff-ffffffffffff');
    expect(isUuid(id)).toBe(true);
  });

  it('ascends within a millisecond, through a burst, and when the clock steps back', () => {
    let now = 1_000_000;
    const next = createUuidV7(() => now, ones);
    const ids = Array.from({ length: 10_000 }, next);
    now -= 500;
    ids.push(next());
    expect([...ids].sort()).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it.each([
    'not-a-uuid',
    '',
    '017f22e2-79b0-77ff-bfff-fffffffffff',
    '017f22e279b077ffbfffffffffffffff',
  ])('does not take %j for a UUID', (text) => {
    expect(isUuid(text)).toBe(false);
  });
});
