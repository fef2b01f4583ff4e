import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { MockIdpKey } from './mock-idp-key';

/** How a document is answered; `ok` unless a test says otherwise. */
export type MockIdpMode =
  | 'ok'
  /** 500 with a JSON body. */
  | 'error'
  /** Never answers. */
  | 'hang'
  /** The head, half a body, and then nothing. */
  | 'stall'
  /** 200 and something else than JSON. */
  | 'garbage'
  /** 10 MB. */
  | 'huge'
  /** 302 to `redirectTo`. */
  | 'redirect'
  /** The right bytes as `text/html`. */
  | 'wrong-type'
  /** A set without keys; a discovery document without members. */
  | 'empty'
  /** Closes the connection. */
  | 'reset';

const DISCOVERY_PATH = '/.well-known/openid-configuration';
const JWKS_PATH = '/jwks.json';

/** An OpenID provider on loopback: discovery, keys, tokens, and every way to fail. */
export class MockIdp {
  readonly keys: MockIdpKey[] = [];
  /** Requests so far, whatever the path. */
  readonly counts = { discovery: 0, jwks: 0, other: 0 };
  jwksMode: MockIdpMode = 'ok';
  discoveryMode: MockIdpMode = 'ok';
  redirectTo = '/elsewhere';
  /** Members laid over the discovery document. */
  discovery: Readonly<Record<string, unknown>> = {};
  private server: Server | undefined;
  private port = 0;

  get issuer(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get jwksUri(): string {
    return this.issuer + JWKS_PATH;
  }

  /** @param port of an earlier life; a free one when left out. */
  async start(port = 0): Promise<this> {
    const server = createServer((request, response) => {
      this.answer(request.url ?? '', response);
    });
    this.server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
    this.port = (server.address() as AddressInfo).port;
    return this;
  }

  async stop(): Promise<void> {
    const { server } = this;
    this.server = undefined;
    if (server === undefined) return;
    server.closeAllConnections();
    await new Promise<void>((resolve) => {
      server.close(() => {
        resolve();
      });
    });
  }

  async addKey(...parameters: Parameters<typeof MockIdpKey.make>): Promise<MockIdpKey> {
    const key = await MockIdpKey.make(...parameters);
    this.keys.push(key);
    return key;
  }

  removeKey(kid: string): void {
    const at = this.keys.findIndex((key) => key.kid === kid);
    if (at >= 0) this.keys.splice(at, 1);
  }

  private answer(url: string, response: ServerResponse): void {
    if (url === DISCOVERY_PATH) {
      this.counts.discovery += 1;
      const document = { issuer: this.issuer, jwks_uri: this.jwksUri, ...this.discovery };
      this.send(this.discoveryMode, document, {}, response);
    } else if (url === JWKS_PATH) {
      this.counts.jwks += 1;
      const document = { keys: this.keys.map(({ jwk }) => jwk) };
      this.send(this.jwksMode, document, { keys: [] }, response);
    } else {
      this.counts.other += 1;
      response.writeHead(404).end();
    }
  }

  private send(mode: MockIdpMode, document: object, empty: object, response: ServerResponse): void {
    const json = (status: number, body: string, type = 'application/json'): void => {
      response.writeHead(status, { 'content-type': type, 'content-length': body.length });
      response.end(body);
    };
    const text = JSON.stringify(document);
    if (mode === 'ok') json(200, text);
    else if (mode === 'error') json(500, text);
    else if (mode === 'garbage') json(200, '<html>keys</html>');
    else if (mode === 'huge') json(200, `{"keys":[],"x":"${'x'.repeat(10_000_000)}"}`);
    else if (mode === 'wrong-type') json(200, text, 'text/html');
    else if (mode === 'empty') json(200, JSON.stringify(empty));
    else if (mode === 'redirect') response.writeHead(302, { location: this.redirectTo }).end();
    else if (mode === 'reset') response.destroy();
    else if (mode === 'stall') {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write(text.slice(0, text.length / 2));
    }
  }
}
