import { type AdmissionRequest } from '@smg/plugin-api';
import { type IncomingMessage } from 'node:http';
import { type ClientHead } from './core/client-head';

/** A request as the admission sees it. @param tenant of the key that opened the plane. */
export function admissionRequestOf(
  { socket }: IncomingMessage,
  head: ClientHead,
  tenant: string | undefined,
): AdmissionRequest {
  return {
    authenticatedTenant: tenant,
    peer: socket.remoteAddress,
    header: (name) => head.header(name),
  };
}
