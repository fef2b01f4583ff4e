/** Longest Content-Length that is still an exact integer with room to add. */
const CONTENT_LENGTH = /^\d{1,15}$/;

/** What neither a name nor an address nor a port has; a comma would be two Hosts in one. */
const NO_HOST = /[\s,/?#@\\]/;

/** Collects the few headers a head is judged by. */
class FramingFields {
  length: string | undefined;
  coding: string | undefined;
  hosts = 0;
  authorization: string | undefined;
  expect: string | undefined;
  via: string | undefined;
  origin: string | undefined;
  defect: string | undefined;

  take(name: string, value: string): void {
    switch (name) {
      case 'content-length':
        if (this.length !== undefined) this.defect = 'more than one Content-Length';
        this.length = value;
        break;
      case 'transfer-encoding':
        if (this.coding !== undefined) this.defect = 'more than one Transfer-Encoding';
        this.coding = value;
        break;
      case 'host':
        this.hosts += 1;
        if (NO_HOST.test(value)) this.defect = 'Host is no host';
        break;
      case 'authorization':
        // A proxy in front may have judged the other one.
        if (this.authorization !== undefined) this.defect = 'more than one Authorization';
        this.authorization = value;
        break;
      case 'expect':
        this.expect = value;
        break;
      case 'via':
        this.via = this.via === undefined ? value : `${this.via}, ${value}`;
        break;
      case 'origin':
        this.origin = this.origin === undefined ? value : `${this.origin}, ${value}`;
        break;
      default:
    }
  }
}

/**
 * A request head, scanned once. Names are lower case, repeats and order are kept, so the list serves
 * the framing checks, header look-ups and the forwarded headers alike.
 */
export class ClientHead {
  /** Flat list of lower-case names and values. */
  readonly headers: readonly string[];
  /** Bytes announced; -1 when there is no Content-Length. */
  readonly contentLength: number;
  readonly isChunked: boolean;
  readonly authorization: string | undefined;
  /** Gateways the request has passed; repeats joined. */
  readonly via: string | undefined;
  /** Where the page that sends it comes from; only browsers say so. Repeats joined. */
  readonly origin: string | undefined;
  /** The client waits for `100 Continue` before it sends the body. */
  readonly expectsContinue: boolean;
  /** Why the message must be refused: two readers could disagree about where it ends, or who sends it. */
  readonly defect: string | undefined;

  /** @param knowsInterim the client may be sent an interim answer: it speaks HTTP/1.1. */
  constructor(raw: readonly string[], knowsInterim = true) {
    const headers = new Array<string>(raw.length);
    const seen = new FramingFields();
    for (let i = 0; i + 1 < raw.length; i += 2) {
      const name = (raw[i] ?? '').toLowerCase();
      const value = raw[i + 1] ?? '';
      headers[i] = name;
      headers[i + 1] = value;
      seen.take(name, value);
    }
    const { length, coding } = seen;
    this.headers = headers;
    this.contentLength = length !== undefined && CONTENT_LENGTH.test(length) ? Number(length) : -1;
    this.isChunked = coding !== undefined;
    this.authorization = seen.authorization;
    this.via = seen.via;
    this.origin = seen.origin;
    this.expectsContinue = knowsInterim && seen.expect?.toLowerCase() === '100-continue';
    this.defect = seen.defect ?? framingDefect(length, coding, seen.hosts);
  }

  get hasBody(): boolean {
    return this.isChunked || this.contentLength > 0;
  }

  /** Value of a header; repeats are joined with `, `. @param name lower case. */
  header(name: string): string | undefined {
    const { headers } = this;
    let found: string | undefined;
    for (let i = 0; i < headers.length; i += 2) {
      if (headers[i] !== name) continue;
      const value = headers[i + 1] ?? '';
      found = found === undefined ? value : `${found}, ${value}`;
    }
    return found;
  }
}

function framingDefect(
  length: string | undefined,
  coding: string | undefined,
  hosts: number,
): string | undefined {
  if (hosts > 1) return 'more than one Host';
  if (coding !== undefined && length !== undefined) {
    return 'Transfer-Encoding beside Content-Length';
  }
  // Only chunked ends a message by itself; any other coding would have to be decoded to relay it.
  if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked') {
    return 'Transfer-Encoding other than chunked';
  }
  if (length !== undefined && !CONTENT_LENGTH.test(length)) return 'Content-Length is no number';
  return undefined;
}
