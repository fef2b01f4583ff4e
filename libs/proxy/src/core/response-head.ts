import { type ResponseHead } from '@smg/plugin-api';

const LEGAL_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const LEGAL_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** A response head over the flat list that is written to the client. */
export class FlatResponseHead implements ResponseHead {
  constructor(
    readonly status: number,
    readonly isStream: boolean,
    /** Names and values, in order. */
    readonly headers: string[],
  ) {}

  get(name: string): string | undefined {
    const wanted = name.toLowerCase();
    for (let i = 0; i < this.headers.length; i += 2) {
      if (this.headers[i]?.toLowerCase() === wanted) return this.headers[i + 1];
    }
    return undefined;
  }

  set(name: string, value: string): void {
    if (!LEGAL_NAME.test(name)) throw new TypeError('not a legal header name');
    if (!LEGAL_VALUE.test(value)) throw new TypeError(`not a legal value of header ${name}`);
    this.delete(name);
    this.headers.push(name, value);
  }

  delete(name: string): void {
    const wanted = name.toLowerCase();
    for (let i = this.headers.length - 2; i >= 0; i -= 2) {
      if (this.headers[i]?.toLowerCase() === wanted) this.headers.splice(i, 2);
    }
  }
}
