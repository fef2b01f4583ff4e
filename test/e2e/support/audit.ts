import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';

/** A record of the audit log, parsed. */
export type AuditRecord = Record<string, unknown>;

/** Records among log lines. */
export const recordsIn = (logs: readonly Record<string, unknown>[]): AuditRecord[] =>
  logs.filter(({ msg }) => msg === 'control_plane_audit');

/** Records of a file; throws when a line is no JSON object. */
export function recordsOf(path: string): AuditRecord[] {
  const lines = readFileSync(path, 'utf8').split('\n');
  if (lines.pop() !== '') throw new Error('the last line has no end');
  return lines.map((line) => JSON.parse(line) as AuditRecord);
}

/** An issuer of tokens on loopback. */
export interface Issuer {
  readonly url: string;
  readonly jwksUri: string;
  /** @param expiresIn such as `5m`, or `-1h` for an expired one. */
  token(claims: Record<string, unknown>, expiresIn?: string): Promise<string>;
  stop(): Promise<void>;
}

export const AUDIENCE = 'smg';

export async function startIssuer(): Promise<Issuer> {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k1', alg: 'RS256', use: 'sig' };
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ keys: [jwk] }));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    jwksUri: `${url}/jwks`,
    token: (claims, expiresIn = '5m') =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: 'RS256', kid: 'k1' })
        .setIssuer(url)
        .setAudience(AUDIENCE)
        .setIssuedAt()
        .setExpirationTime(expiresIn)
        .sign(privateKey),
    stop: () =>
      new Promise((done) => {
        server.closeAllConnections();
        server.close(() => {
          done();
        });
      }),
  };
}
