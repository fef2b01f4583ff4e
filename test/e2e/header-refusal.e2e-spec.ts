import { Injectable, Module } from '@nestjs/common';
import {
  CANDIDATE_FILTER,
  type CandidateFilter,
  type HeaderReader,
  type RequestRefusal,
  type WorkerView,
} from '@smg/plugin-api';
import { MockEngine } from '@smg/testing';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';

@Injectable()
class PickyFilter implements CandidateFilter {
  readonly name = 'picky';
  readonly order = 300;

  filter(candidates: readonly WorkerView[]): readonly WorkerView[] {
    return candidates;
  }

  refuse(header: HeaderReader): RequestRefusal | undefined {
    if (header('x-acme-mode') === 'fatal') throw new Error('broken');
    if (header('x-acme-mode') !== 'nonsense') return undefined;
    return { status: 400, code: 'invalid_mode', body: '{"error":"invalid_mode"}' };
  }
}

@Module({ providers: [...CANDIDATE_FILTER.provide(PickyFilter)] })
class PickyPlugin {}

describe.each([
  ['hot lane', true],
  ["Nest's router", false],
])('a filter that refuses malformed headers (%s)', (_, hotLane) => {
  const engine = new MockEngine();
  let gateway: RunningGateway;
  beforeAll(async () => {
    await engine.start();
    gateway = await startGateway(
      { auth: { apiKey: 'key' }, requests: { hotLane } },
      { engines: [engine], plugins: [PickyPlugin] },
    );
  });
  afterAll(async () => {
    await gateway.close();
    await engine.stop();
  });
  const bad = { 'x-acme-mode': 'nonsense' };

  it.each([
    ['POST', '/generate'],
    ['POST', '/v1/chat/completions'],
    ['GET', '/workers'],
    ['GET', '/health'],
    ['GET', '/get_model_info'],
  ])('%s %s is answered before authentication', async (method, path) => {
    const answer = await send(`${gateway.url}${path}`, {
      method,
      headers: bad,
      ...(method === 'POST' ? { body: { text: 'hi' } } : {}),
    });
    expect(answer.status).toBe(400);
    expect(answer.text).toBe('{"error":"invalid_mode"}');
    expect(answer.headers['x-request-id']).toBeDefined();
    expect(engine.requestsTo('/generate')).toHaveLength(0);
  });

  it.each(['/generate', '/get_model_info', '/workers'])(
    'a filter that throws fails the request to %s, closed, and no other',
    async (path) => {
      const headers = { 'x-acme-mode': 'fatal', authorization: 'Bearer key' };
      const method = path === '/generate' ? 'POST' : 'GET';
      const answer = await send(`${gateway.url}${path}`, {
        method,
        headers,
        ...(method === 'POST' ? { body: { text: 'hi' } } : {}),
      });
      expect(answer.status).toBe(500);
      expect(answer.headers['x-smg-error-code']).toBe('filter_failed');
      expect(answer.text).not.toContain('broken');
      expect(engine.requestsTo('/generate')).toHaveLength(0);
    },
  );

  it('leaves unknown paths and sound requests alone', async () => {
    expect((await send(`${gateway.url}/nope`, { headers: bad })).status).toBe(404);
    const sound = await send(`${gateway.url}/generate`, {
      headers: { 'x-acme-mode': 'fine', authorization: 'Bearer key' },
      body: { text: 'hi' },
    });
    expect(sound.status).toBe(200);
  });

  it('counts the refusal by its code', async () => {
    expect(await gateway.metrics()).toMatch(
      /smg_http_responses_total\{path="\/generate",status_code="400",error_code="invalid_mode"\} 1/,
    );
  });
});
