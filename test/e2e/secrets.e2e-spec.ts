import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MockEngine } from '@smg/testing';
import { send } from '../support/http';
import { startProgram } from '../support/program';
import { until } from '../support/until';
import { workersOf } from '../support/workers';

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'smg-secrets-'));
});
afterAll(() => {
  rmSync(home, { recursive: true, force: true });
});

describe('a gateway started from a config file', () => {
  it('serves as the file says; no canary secret appears in logs, answers or metrics at debug level', async () => {
    const engine = await new MockEngine({ apiKey: 'canary-shared' }).start();
    const guest = await new MockEngine({ model: 'guest', apiKey: 'canary-worker' }).start();
    const file = join(home, 'serve.json');
    writeFileSync(
      file,
      JSON.stringify({
        worker_urls: [engine.url],
        api_key: 'canary-shared',
        tenant_api_key: ['acme:canary-tenant'],
        log_level: 'debug',
        health_check_interval_secs: 1,
        retry_max_retries: 2,
      }),
    );
    const program = await startProgram(['--config', file], { ready: 1 });
    const answers: string[] = [];
    const note = async (url: string, sending: Parameters<typeof send>[1]): Promise<number> => {
      const got = await send(url, sending);
      answers.push(JSON.stringify(got.headers), got.text);
      return got.status;
    };
    try {
      const shared = { authorization: 'Bearer canary-shared' };
      const workers = workersOf(program.url, 'canary-shared');
      const id = await workers.added({ url: guest.url, api_key: 'canary-worker' });
      for (const headers of [shared, { authorization: 'Bearer canary-tenant' }]) {
        const body = { model: 'guest', prompt: 'x' };
        expect(await note(`${program.url}/v1/completions`, { headers, body })).toBe(200);
      }
      const wrong = { authorization: 'Bearer canary-guess' };
      expect(await note(`${program.url}/generate`, { headers: wrong, body: {} })).toBe(401);
      expect(await note(`${program.url}/workers`, { headers: wrong })).toBe(401);
      const spec = { url: 'http://user:canary-password@127.0.0.1:1', api_key: 'canary-other' };
      expect(await note(`${program.url}/workers`, { headers: shared, body: spec })).toBe(400);
      const dead = {
        url: 'http://127.0.0.1:9',
        api_key: 'canary-dead',
        max_connection_attempts: 1,
      };
      expect(await note(`${program.url}/workers`, { headers: shared, body: dead })).toBe(202);
      const cut = { url: 7, api_key: 'canary-422' };
      expect(await note(`${program.url}/workers`, { headers: shared, body: cut })).toBe(422);
      await note(`${program.url}/workers`, { headers: shared, body: '{"api_key":"canary-json' });
      const patch = { api_key: 'canary-patched' };
      await note(`${program.url}/workers/${id}`, { headers: shared, method: 'PATCH', body: patch });
      await note(`${program.url}/workers/${encodeURIComponent('http://u:canary-pw@h:1')}`, {
        headers: shared,
      });
      await note(`${program.url}/v1/models?api_key=canary-query`, {});
      engine.crash();
      const body = { model: 'mock-model', prompt: 'x' };
      expect(await note(`${program.url}/v1/completions`, { headers: shared, body })).toBe(502);
      await note(`${program.url}/workers`, { headers: shared });
      await note(`${program.url}/get_loads`, { headers: shared });
      await note(program.metricsUrl, {});
      await until('the failed registration is in the log', () =>
        program.output().includes('http://127.0.0.1:9'),
      );
    } finally {
      program.child.kill('SIGTERM');
      await program.kill();
      await engine.stop();
      await guest.stop();
    }
    expect(program.output()).toContain('"level":"debug"');
    expect(program.output()).not.toContain('canary');
    expect(answers.join('\n')).not.toContain('canary');
    for (const line of program.stdout().trim().split('\n')) {
      expect(() => JSON.parse(line) as unknown).not.toThrow();
    }
  });
});
