import { type PartialGatewayConfig } from '../../src';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';
import { runProgram } from '../support/program';

const KEY = 'operator-secret-1';
const USER_KEY = 'observer-secret-1';
const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
const HTML = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const PATHS = ['/openapi.json', '/docs', '/docs/swagger-ui.css', '/docs/swagger-ui-bundle.js'];

async function withGateway(
  config: PartialGatewayConfig,
  work: (gateway: RunningGateway) => Promise<void>,
): Promise<void> {
  const gateway = await startGateway(config);
  try {
    await work(gateway);
  } finally {
    await gateway.close();
  }
}

const GUARDED: PartialGatewayConfig = {
  auth: {
    controlPlaneApiKeys: [
      { id: 'ops', name: 'Ops', role: 'admin', key: KEY },
      { id: 'eyes', name: 'Eyes', role: 'user', key: USER_KEY },
    ],
  },
};

describe('the documentation routes, guarded', () => {
  let gateway: RunningGateway;
  beforeAll(async () => {
    gateway = await startGateway(GUARDED);
  });
  afterAll(() => gateway.close());

  it.each(PATHS)(
    '%s: 401 without a key, 403 with too small a role, 200 with a key',
    async (path) => {
      const without = await send(gateway.url + path);
      const other = await send(`${gateway.url}/workers`);
      expect([without.status, without.text]).toEqual([401, other.text]);
      expect(without.headers['www-authenticate']).toBe(other.headers['www-authenticate']);
      expect(without.headers['content-type']).toMatch('text/plain');
      expect((await send(gateway.url + path, { headers: bearer('guess') })).status).toBe(401);
      expect((await send(gateway.url + path, { headers: bearer(USER_KEY) })).status).toBe(403);
      const answer = await send(gateway.url + path, { headers: bearer(KEY) });
      expect(answer.status).toBe(200);
      expect(answer.headers['x-content-type-options']).toBe('nosniff');
      expect(answer.headers['x-powered-by']).toBeUndefined();
    },
  );

  it('a browser at /docs gets the page that asks, with the same status and challenge', async () => {
    const answer = await send(`${gateway.url}/docs`, { headers: { accept: HTML } });
    expect(answer.status).toBe(401);
    expect(answer.headers['www-authenticate']).toMatch(/^Bearer/);
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(Number(answer.headers['content-length'])).toBe(answer.body.length);
    expect(answer.text).toContain('data-ask="true"');
    // Nothing of this gateway: no route, no engine, no version.
    expect(answer.text).not.toMatch(/workers|v1\/rl|0\.1\.0/);
  });

  it.each(PATHS.filter((path) => path !== '/docs'))('a browser at %s does not', async (path) => {
    const answer = await send(gateway.url + path, { headers: { accept: HTML } });
    expect([answer.status, answer.headers['content-type']]).toEqual([
      401,
      expect.stringContaining('text/plain'),
    ]);
  });

  it('HEAD is refused without a body', async () => {
    const answer = await send(`${gateway.url}/docs`, { method: 'HEAD', headers: { accept: HTML } });
    expect([answer.status, answer.body.length]).toEqual([401, 0]);
  });

  it.each(PATHS)('HEAD of %s with a key is its GET without the body', async (path) => {
    const head = await send(gateway.url + path, { method: 'HEAD', headers: bearer(KEY) });
    const get = await send(gateway.url + path, { headers: bearer(KEY) });
    expect([head.status, head.body.length]).toEqual([200, 0]);
    for (const name of ['content-type', 'content-length', 'etag']) {
      expect(head.headers[name]).toBe(get.headers[name]);
    }
  });

  it.each(['/docs/', '/docs//swagger-ui.css', '/DOCS', '/docs/..', '/docs/index.html'])(
    '%s is no way in',
    async (path) => {
      const answer = await send(gateway.url + path, { headers: { accept: HTML } });
      expect([401, 404]).toContain(answer.status);
      expect(answer.text).not.toContain('swagger');
    },
  );

  it.each([
    '/docs/swagger-ui.js',
    '/docs/package.json',
    '/docs/%2e%2e/package.json',
    '/docs/..%2fpackage.json',
    '/docs/swagger-ui.css/../package.json',
  ])('no other file is served: %s', async (path) => {
    const answer = await send(gateway.url + path, { headers: bearer(KEY) });
    expect([answer.status, answer.text]).toEqual([404, '']);
  });

  it('another method is 405 with Allow', async () => {
    const answer = await send(`${gateway.url}/docs`, { method: 'POST', headers: bearer(KEY) });
    expect([answer.status, answer.headers.allow]).toEqual([405, 'GET, HEAD']);
  });
});

describe('the page', () => {
  it('runs nothing but its own script and is kept by nobody', async () => {
    await withGateway({}, async ({ url }) => {
      const one = await send(`${url}/docs`, { headers: { accept: HTML } });
      const other = await send(`${url}/docs`, { headers: { accept: HTML } });
      expect(one.headers).toMatchObject({
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
      });
      const nonceOf = (answer: typeof one): string => {
        const policy = String(answer.headers['content-security-policy']);
        expect(policy).toContain("default-src 'none'");
        expect(policy).not.toMatch(/unsafe|\*|https?:/);
        return /'nonce-([^']+)'/.exec(policy)?.[1] ?? '';
      };
      expect(nonceOf(one)).not.toBe(nonceOf(other));
      const scripts = [...one.text.matchAll(/<script([^>]*)>/g)].map(
        ([, attributes]) => attributes,
      );
      expect(scripts).toEqual([` nonce="${nonceOf(one)}"`]);
      expect(one.text).toContain('data-ask="false"');
      expect(one.text).not.toMatch(/https?:\/\//);
    });
  });

  it('comes with files the browser may keep but asks about: 304', async () => {
    await withGateway({}, async ({ url }) => {
      const first = await send(`${url}/docs/swagger-ui.css`);
      expect(first.headers['cache-control']).toBe('private, no-cache');
      expect(first.headers['content-type']).toBe('text/css; charset=utf-8');
      expect(first.body.length).toBe(Number(first.headers['content-length']));
      const headers = { 'if-none-match': String(first.headers.etag) };
      const again = await send(`${url}/docs/swagger-ui.css`, { headers });
      expect([again.status, again.text]).toEqual([304, '']);
    });
  });
});

describe('--disable-docs', () => {
  it.each(PATHS)('leaves %s out: 404 without a body, as any unknown path', async (path) => {
    await withGateway({ ...GUARDED, listener: { docsDisabled: true } }, async ({ url }) => {
      const headers = { ...bearer(KEY), accept: HTML };
      const answer = await send(url + path, { headers });
      const unknown = await send(`${url}/no/such/path`, { headers });
      expect([answer.status, answer.text]).toEqual([404, '']);
      expect(Object.keys(answer.headers)).toEqual(Object.keys(unknown.headers));
    });
  });
});

describe('the built program', () => {
  it('reads @nestjs/swagger when somebody asks, not before, RL on or off', async () => {
    const script = `
      require('reflect-metadata');
      const { createGateway, loadConfig } = require('./dist/src/index.js');
      const hasSwagger = () => Object.keys(require.cache).some((it) => it.includes('/@nestjs/swagger/'));
      const measure = async (rl) => {
        const config = { rl: { enabled: rl }, listener: { host: '127.0.0.1', port: 0 },
          observability: { prometheusHost: '127.0.0.1', prometheusPort: 0, logLevel: 'error' } };
        const gateway = await createGateway(loadConfig(config, { ephemeralPorts: true }));
        await gateway.listen();
        const before = hasSwagger();
        const answer = await fetch('http://127.0.0.1:' + gateway.port + '/openapi.json');
        await answer.text();
        await gateway.close();
        return [before, answer.status, hasSwagger()];
      };
      const rl = process.env.RL === 'on';
      measure(rl).then((found) => { console.log(JSON.stringify(found)); process.exit(0); });
    `;
    for (const RL of ['off', 'on']) {
      const { stdout } = await runNode(script, { RL });
      // Log lines come first.
      expect([RL, JSON.parse(stdout.trim().split('\n').at(-1) ?? '')]).toEqual([
        RL,
        [false, 200, true],
      ]);
    }
  });

  it('openapi --check agrees with docs/openapi.json', async () => {
    const { code, stderr } = await runProgram(['openapi', '--check']);
    expect([code, stderr]).toEqual([0, '']);
  });

  it('openapi refuses what it does not know, and a place without the file', async () => {
    expect((await runProgram(['openapi', '--what'])).code).toBe(2);
    const { code, stderr } = await runProgram(['openapi'], { cwd: '/' });
    expect(code).toBe(2);
    expect(stderr).toMatch(/^error: there is no docs\/openapi.json here/);
  });
});

async function runNode(
  script: string,
  env: Readonly<Record<string, string>>,
): Promise<{ readonly stdout: string }> {
  const { execFile } = await import('node:child_process');
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      ['-e', script],
      { env: { PATH: process.env['PATH'], ...env }, timeout: 30_000 },
      (error, stdout, stderr) => {
        if (error === null) resolve({ stdout });
        else reject(new Error(stderr, { cause: error }));
      },
    );
  });
}
