import { Module } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { type FastifyInstance } from 'fastify';
import { type Plane } from '@smg/plugin-api';
import { MockEngine } from '@smg/testing';
import { planesOfRoutes, type RoutePlanes } from '../../src/fastify/route-planes';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';
import { workersOf } from '../support/workers';
import { describeLanes } from './support/lanes';
import { sendRaw, statusOf } from './support/raw-client';
import { spellings } from './support/spellings';

const ROUTES = new Set<string>();

/** Writes down every route the router is told of. */
@Module({})
class Walker {
  constructor(host: HttpAdapterHost) {
    const fastify = host.httpAdapter.getInstance<FastifyInstance>();
    fastify.addHook('onRoute', ({ method, url }) => {
      for (const one of [method].flat()) ROUTES.add(`${one} ${url}`);
    });
  }
}

const PUBLIC = ['/liveness', '/readiness', '/health', '/health_generate', '/v1/models'].concat([
  ...['/get_model_info', '/get_server_info', '/engine_metrics'],
  ...['/model_info', '/server_info'],
]);

const SERVING_401 = { error: { code: 'invalid_api_key' } };
const CONTROL_401 = 'Missing or invalid Authorization header';
const UNKNOWN_ID = '0198b6a0-0000-7000-8000-000000000000';

/** A path that matches a template. */
const pathFor = (template: string): string =>
  template.replace(/:\w+/g, UNKNOWN_ID).replace('*', 'pause_generation');

describeLanes('the walk through the router, without credentials', ({ hotLane }) => {
  let gateway: RunningGateway;
  let engine: MockEngine;
  let planes: RoutePlanes;
  beforeAll(async () => {
    ROUTES.clear();
    engine = await new MockEngine().start();
    gateway = await startGateway(
      {
        auth: {
          apiKey: 'S',
          tenantApiKeys: [{ tenantId: 'acme', key: 'T' }],
          controlPlaneApiKeys: [{ id: 'ops', name: '', role: 'admin', key: 'A' }],
        },
        requests: { hotLane },
        rl: { enabled: true },
      },
      { engines: [engine], plugins: [Walker] },
    );
    planes = planesOfRoutes(gateway.gateway.app);
  });
  afterAll(async () => {
    await gateway.close();
    await engine.stop();
  });

  const routes = (): [method: string, template: string, plane: Plane][] =>
    [...ROUTES].map((route) => {
      const [method = '', template = ''] = route.split(' ');
      return [method, template, planes.of(method, template)];
    });

  it('[R71] every route answers as its plane says, and the public set is the documented one', async () => {
    expect(routes().length).toBeGreaterThan(40);
    expect(routes().some(([, template]) => template.startsWith('/v1/rl/'))).toBe(true);
    expect(routes().some(([, template]) => template === '/docs')).toBe(true);
    const open = new Set<string>();
    for (const [method, template, plane] of routes()) {
      const answer = await send(gateway.url + pathFor(template), {
        method,
        body: method === 'GET' || method === 'HEAD' ? undefined : '{}',
      });
      if (plane === 'public') {
        open.add(template);
        expect([method, template, answer.status]).toEqual([method, template, 200]);
        continue;
      }
      expect([method, template, answer.status]).toEqual([method, template, 401]);
      const text = method === 'HEAD' ? '' : answer.text;
      if (plane === 'control') {
        expect([template, text]).toEqual([template, method === 'HEAD' ? '' : CONTROL_401]);
        expect(answer.headers['www-authenticate']).toBe('Bearer realm="control-plane"');
      } else {
        if (method !== 'HEAD') expect(JSON.parse(text)).toMatchObject(SERVING_401);
        expect(answer.headers['www-authenticate']).toBe('Bearer');
      }
    }
    expect([...open].sort()).toEqual([...PUBLIC].sort());
  });

  it('a wrong method tells a stranger nothing but 401, and is recorded as a decision', async () => {
    const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
    let tries = 0;
    for (const template of new Set(routes().map(([, one]) => one))) {
      for (const method of methods) {
        if (ROUTES.has(`${method} ${template}`)) continue;
        // Of a path with several templates, the strictest plane holds.
        const isPublic = PUBLIC.includes(template);
        const answer = await send(gateway.url + pathFor(template), { method });
        const expected = isPublic ? 405 : 401;
        expect([method, template, answer.status]).toEqual([method, template, expected]);
        expect(answer.headers.allow === undefined).toBe(!isPublic);
        tries += 1;
      }
    }
    expect(tries).toBeGreaterThan(50);
  });

  it('[R71] a malformed version policy is told before credentials (decision 19)', async () => {
    const headers = { 'x-smg-version-policy': 'nonsense' };
    for (const path of ['/workers', '/v1/rl/workers', '/docs']) {
      expect((await send(gateway.url + path, { headers })).status).toBe(400);
    }
    expect((await send(`${gateway.url}/nothing`, { headers })).status).toBe(404);
  });

  it('[R41] no spelling of a control route is served or reaches an engine', async () => {
    const received = engine.counters.of('/flush_cache') + engine.counters.of('/pause_generation');
    const before = (await workersOf(gateway.url, 'A').list()).total;
    const refused = [400, 401, 404, 405];
    let tries = 0;
    for (const [method, template, plane] of routes()) {
      if (plane !== 'control' || method === 'HEAD') continue;
      const targets = spellings(pathFor(template));
      tries += targets.length;
      const answers = await Promise.all(
        targets.map((target) => {
          const body = method === 'GET' ? '' : '{"url":"http://127.0.0.1:9"}';
          const head = `${method} ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n`;
          const type = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
          return sendRaw(gateway.port, head + type + body);
        }),
      );
      for (const [index, { text }] of answers.entries()) {
        const status = statusOf(text);
        // A few spellings lead to a public route; that one may answer.
        const isPublic = PUBLIC.includes(targets[index]?.replace(/\?.*$/, '') ?? '');
        expect([method, targets[index], isPublic || refused.includes(status), status]).toEqual([
          method,
          targets[index],
          true,
          status,
        ]);
      }
    }
    expect(tries).toBeGreaterThan(500);
    expect((await workersOf(gateway.url, 'A').list()).total).toBe(before);
    expect(engine.counters.of('/flush_cache') + engine.counters.of('/pause_generation')).toBe(
      received,
    );
  });

  it('no body is asked for or read before the decision', async () => {
    for (const path of ['/workers', '/v1/rl/version', '/generate']) {
      const { text } = await sendRaw(
        gateway.port,
        `POST ${path} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n`,
        { untilText: '\r\n\r\n' },
      );
      expect([path, statusOf(text)]).toEqual([path, 401]);
      expect(text).not.toContain('100 Continue');
    }
  });
});
