import { Command, InvalidArgumentError } from 'commander';
import { type JWTPayload } from 'jose';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { IssuerKeys } from './issuer-keys';

/** Command line. */
interface Flags {
  readonly port: number;
  readonly audience: string;
  readonly alg: string;
  readonly rotateEvery: number;
}

/** Everybody on this machine gets any token: for trying things out, so nobody else may reach it. */
const HOST = '127.0.0.1';
/** Bytes of a request body. */
const MAX_BODY = 64 * 1024;
/** Seconds a token lives unless asked otherwise. */
const LIFETIME_SECS = 300;

interface Answer {
  readonly status: number;
  /** A text is sent as it is, with a line end; anything else as JSON. */
  readonly body: unknown;
}

const say = (event: string, facts: object = {}): void => {
  process.stdout.write(`${JSON.stringify({ event, ...facts })}\n`);
};

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8') as AsyncIterable<string>) {
    text += chunk;
    if (text.length > MAX_BODY) throw new Error('the body is too large');
  }
  return text;
}

function claimsOf(body: string): JWTPayload {
  const claims: unknown = body === '' ? {} : JSON.parse(body);
  if (typeof claims !== 'object' || claims === null || Array.isArray(claims)) {
    throw new Error('the body must be a JSON object of claims');
  }
  return claims as JWTPayload;
}

/** Answers like an OpenID provider, as far as a verifier of tokens can tell, and mints tokens for whoever asks. */
class LocalIssuer {
  constructor(
    private readonly issuer: string,
    private readonly audience: string,
    private readonly keys: IssuerKeys,
  ) {}

  async answer(request: IncomingMessage): Promise<Answer> {
    const url = new URL(request.url ?? '/', this.issuer);
    switch (`${request.method ?? ''} ${url.pathname}`) {
      case 'GET /.well-known/openid-configuration':
        return {
          status: 200,
          body: { issuer: this.issuer, jwks_uri: `${this.issuer}/jwks` },
        };
      case 'GET /jwks':
        say('keys fetched');
        return { status: 200, body: this.keys.published };
      case 'POST /mint':
        return { status: 200, body: await this.mint(request, url) };
      case 'POST /rotate':
        return { status: 200, body: await this.rotate(url.searchParams.has('withdraw')) };
      default:
        return { status: 404, body: 'not found' };
    }
  }

  /** Signs with a new key from now on. @param withdraw whether the others leave the set. */
  async rotate(withdraw: boolean): Promise<string> {
    const kid = await this.keys.rotate(withdraw);
    say('keys rotated', { kid, withdrawn: withdraw });
    return kid;
  }

  private async mint(request: IncomingMessage, url: URL): Promise<string> {
    const lifetime = Number(url.searchParams.get('expires_in') ?? LIFETIME_SECS);
    if (!Number.isInteger(lifetime)) throw new Error('expires_in must be whole seconds');
    const iat = Math.floor(Date.now() / 1000);
    const usual = { iss: this.issuer, aud: this.audience, iat, exp: iat + lifetime };
    return this.keys.sign({ ...usual, ...claimsOf(await bodyOf(request)) });
  }
}

function write(response: ServerResponse, { status, body }: Answer): void {
  const isText = typeof body === 'string';
  response.writeHead(status, { 'content-type': isText ? 'text/plain' : 'application/json' });
  response.end(isText ? `${body}\n` : JSON.stringify(body));
}

function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('a whole number is needed');
  return Number(text);
}

async function main(): Promise<void> {
  const flags = new Command('local-issuer')
    .description('An OpenID issuer for trying things out. It gives any token to whoever asks.')
    .option('--port <port>', 'on 127.0.0.1', wholeNumber, 9100)
    .option('--audience <audience>', 'claim `aud` of tokens', 'smg')
    .option('--alg <algorithm>', 'RS256, PS256, ES256, ES384, EdDSA, …', 'RS256')
    .option('--rotate-every <seconds>', 'new key each time, the old ones stay', wholeNumber, 0)
    .parse()
    .opts<Flags>();
  const name = `http://${HOST}:${flags.port}`;
  const issuer = new LocalIssuer(name, flags.audience, await IssuerKeys.create(flags.alg));
  const server = createServer((request, response) => {
    issuer.answer(request).then(
      (answer) => {
        write(response, answer);
      },
      (error: unknown) => {
        write(response, {
          status: 400,
          body: error instanceof Error ? error.message : 'bad request',
        });
      },
    );
  });
  server.on('error', fail);
  server.listen(flags.port, HOST, () => {
    say('listening', { issuer: name, audience: flags.audience });
  });
  if (flags.rotateEvery > 0) {
    setInterval(() => {
      issuer.rotate(false).catch(fail);
    }, flags.rotateEvery * 1000);
  }
}

function fail(error: unknown): void {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(1);
}

main().catch(fail);
