/**
 * UUIDv7 (RFC 9562): 48 bits of milliseconds, then 12 bits that count within one millisecond from a
 * random start, then 62 random bits. Ids of one process are strictly ascending.
 */
export function createUuidV7(
  now: () => number,
  randomBytes: (size: number) => Uint8Array,
): () => string {
  let lastMs = -1;
  let sequence = 0;
  return () => {
    const bytes = randomBytes(10);
    const ms = now();
    if (ms > lastMs) {
      lastMs = ms;
      // The top bit stays free, so that a burst has at least 2,048 ids before it borrows a millisecond.
      sequence = (((bytes[0] ?? 0) << 8) | (bytes[1] ?? 0)) & 0x7ff;
    } else if (++sequence > 0xfff) {
      lastMs++;
      sequence = 0;
    }
    const time = lastMs.toString(16).padStart(12, '0');
    const counter = sequence.toString(16).padStart(3, '0');
    const variant = (((bytes[2] ?? 0) & 0x3f) | 0x80).toString(16);
    let random = '';
    for (let i = 3; i < 10; i++) random += (bytes[i] ?? 0).toString(16).padStart(2, '0');
    return `${time.slice(0, 8)}-${time.slice(8)}-7${counter}-${variant}${random.slice(0, 2)}-${random.slice(2)}`;
  };
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether `text` has the form of a UUID of any version. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}
