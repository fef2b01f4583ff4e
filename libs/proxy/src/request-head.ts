import { type IncomingMessage } from 'node:http';
import { ClientHead } from './core/client-head';

const HEAD = Symbol('smg.client-head');

/** The scanned head of a request; scanned by whoever asks first. */
export function headOf(request: IncomingMessage): ClientHead {
  const carrier: { [HEAD]?: ClientHead } = request as object;
  return (carrier[HEAD] ??= new ClientHead(request.rawHeaders));
}
