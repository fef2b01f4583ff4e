import { isUtf8 } from 'node:buffer';
import { type SelectionContext } from '@smg/plugin-api';
import { ROUTING_KEY } from '@smg/protocol';

const MAX_KEY_BYTES = 128;
const MAX_ASCII = 0x7f;

export function isAsciiText(value: string): boolean {
  for (let i = 0; i < value.length; i++) if (value.charCodeAt(i) > MAX_ASCII) return false;
  return true;
}

/** The key in `x-smg-routing-key`, whatever headers are configured: 1 to 128 bytes of UTF-8. */
export function headerKeyOf(context: SelectionContext): string | undefined {
  const value = context.header(ROUTING_KEY);
  if (value === undefined || value === '' || value.length > MAX_KEY_BYTES) return undefined;
  if (isAsciiText(value)) return value;
  const bytes = Buffer.from(value, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : undefined;
}
