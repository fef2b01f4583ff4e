import { type IncomingMessage } from 'node:http';
import { ClientHead } from './core/client-head';

const HEAD = Symbol('smg.client-head');

/** The scanned head of a request; scanned by whoever asks first. */
export function headOf(request: IncomingMessage): ClientHead {
  const carrier: { [HEAD]?: ClientHead } = request as object;
  const known = carrier[HEAD];
  if (known !== undefined) return known;
  const head = new ClientHead(request.rawHeaders, request.httpVersionMinor > 0);
  carrier[HEAD] = head;
  return head;
}
