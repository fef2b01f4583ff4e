/** What stands before the time stamp in every event. */
const MARKER = Buffer.from('"t":"');
/** Digits of the stamp: microseconds, zero-padded, so that every event has the same length. */
const STAMP_DIGITS = 16;
const WHOLE = MARKER.length + STAMP_DIGITS;
const EMPTY = Buffer.alloc(0);

/** One chunked SSE event carrying the time it was written. */
export function timedEvent(nowUs: number): Buffer {
  const stamp = String(Math.floor(nowUs)).padStart(STAMP_DIGITS, '0');
  const event =
    'data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1700000000,' +
    `"model":"bench-model","t":"${stamp}",` +
    '"choices":[{"index":0,"delta":{"content":" token"},"finish_reason":null}]}\n\n';
  return Buffer.from(`${event.length.toString(16)}\r\n${event}\r\n`, 'latin1');
}

/** Counts timed events in a stream of bytes, however they are cut or joined on the way. */
export class EventCounter {
  private carry: Buffer = EMPTY;

  /** @param onEvent gets the stamp, in microseconds. */
  constructor(private readonly onEvent: (stampUs: number) => void) {}

  push(chunk: Buffer): void {
    const data = this.carry.length === 0 ? chunk : Buffer.concat([this.carry, chunk]);
    let from = 0;
    for (;;) {
      const at = data.indexOf(MARKER, from);
      if (at < 0 || at + WHOLE > data.length) {
        // A marker that has begun but is not complete stays for the next chunk.
        this.carry = data.subarray(Math.max(from, at < 0 ? data.length - MARKER.length : at));
        return;
      }
      this.onEvent(Number(data.toString('latin1', at + MARKER.length, at + WHOLE)));
      from = at + WHOLE;
    }
  }
}
