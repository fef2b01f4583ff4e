import { MockEngine } from '@smg/testing';
import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { startGateway, type RunningGateway } from '../support/gateway';
import { type Answer, send } from '../support/http';
import { workersOf } from '../support/workers';
import { audioForm, formHeaders, formOf } from './support/forms';
import { describeLanes } from './support/lanes';

const FILTER = 'x-worker-filter';
const MODEL = 'mock-model';
/** Realtime routes want some; nobody checks them here. */
const CREDENTIALS = { authorization: 'Bearer client' };
const UNHEARD = 'unheard-of';

/** What came of one request: the worker that served it, or the code of the refusal. */
type Outcome = { readonly served: string } | { readonly status: number; readonly code: string };
type Ask = (url: string, headers: Record<string, string>, model: string) => Promise<Outcome>;

const refusalOf = ({ status, headers }: Answer): Outcome => ({
  status,
  code: String(headers['x-smg-error-code']),
});

const posted =
  (path: string, bodyOf: (model: string) => object): Ask =>
  async (url, headers, model) => {
    const got = await send(url + path, {
      headers: { ...CREDENTIALS, ...headers },
      body: bodyOf(model),
    });
    if (got.status !== 200) return refusalOf(got);
    return { served: String(got.headers['x-smg-routed-worker-id']) };
  };

const transcribed: Ask = async (url, headers, model) => {
  const parts = audioForm().map((part) =>
    part.name === 'model' ? { ...part, value: model } : part,
  );
  const got = await send(`${url}/v1/audio/transcriptions`, {
    headers: { ...formHeaders(), ...headers },
    body: formOf(parts),
  });
  if (got.status !== 200) return refusalOf(got);
  return { served: String(got.headers['x-smg-routed-worker-id']) };
};

/** A WebSocket handshake, left as soon as it is answered. */
const upgraded: Ask = (url, headers, model) =>
  new Promise((resolve, reject) => {
    const outgoing = request(`${url}/v1/realtime?model=${model}`, {
      agent: false,
      headers: {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': randomBytes(16).toString('base64'),
        ...CREDENTIALS,
        ...headers,
      },
    });
    outgoing.on('error', reject);
    outgoing.on('upgrade', (incoming, socket) => {
      socket.on('error', () => undefined);
      socket.destroy();
      resolve({ served: String(incoming.headers['x-smg-routed-worker-id']) });
    });
    outgoing.on('response', (incoming) => {
      incoming.resume();
      const code = String(incoming.headers['x-smg-error-code']);
      resolve({ status: incoming.statusCode ?? 0, code });
    });
    outgoing.end();
  });

const MESSAGES = [{ role: 'user', content: 'hi' }];
const UNREAD = 'a body that passes through';
/** Every way into the selection of a worker. */
const WAYS: readonly (readonly [string, Ask])[] = [
  ['/generate', posted('/generate', (model) => ({ model, text: 'x' }))],
  ['chat', posted('/v1/chat/completions', (model) => ({ model, messages: MESSAGES }))],
  ['completions', posted('/v1/completions', (model) => ({ model, prompt: 'x' }))],
  ['embeddings', posted('/v1/embeddings', (model) => ({ model, input: 'x' }))],
  ['classify', posted('/v1/classify', (model) => ({ model, input: 'x' }))],
  ['rerank', posted('/rerank', (model) => ({ model, query: 'q', documents: ['a'] }))],
  ['messages', posted('/v1/messages', (model) => ({ model, messages: MESSAGES, max_tokens: 1 }))],
  ['responses', posted('/v1/responses', (model) => ({ model, input: 'x' }))],
  [
    UNREAD,
    posted('/v1/chat/completions', (model) => ({
      model,
      messages: [{ role: 'user', content: 'x'.repeat(16_384) }],
    })),
  ],
  ['a transcription', transcribed],
  ['a realtime session', posted('/v1/realtime/sessions', (model) => ({ model }))],
  ['a client secret', posted('/v1/realtime/client_secrets', (model) => ({ session: { model } }))],
  ['a realtime WebSocket', upgraded],
];

describeLanes('the label filter, whatever the request', ({ hotLane }) => {
  let gateway: RunningGateway;
  let acme: MockEngine;
  let other: MockEngine;

  beforeAll(async () => {
    [acme, other] = [await new MockEngine().start(), await new MockEngine().start()];
    gateway = await startGateway({
      requests: { hotLane, streamRequestBodiesOver: 8_192 },
      routing: { policy: 'round_robin', workerFilterHeader: FILTER },
      retry: { maxAttempts: 2, initialBackoffMs: 1 },
      health: { checksDisabled: true },
    });
    const workers = workersOf(gateway.url);
    await workers.added({
      url: acme.url,
      labels: { tenant: 'acme', tier: 'gpu-h100', flag: '', realtime: 'true' },
    });
    await workers.added({
      url: other.url,
      labels: { tenant: 'other', tier: 'gpu-h100', realtime: 'true' },
    });
  });
  afterAll(async () => {
    await gateway.close();
    await Promise.all([acme.stop(), other.stop()]);
  });

  /** Who serves four such requests, in a row. */
  const servers = async (ask: Ask, filter: string): Promise<Set<string>> => {
    const seen = new Set<string>();
    for (let i = 0; i < 4; i += 1) {
      const outcome = await ask(gateway.url, { [FILTER]: filter }, MODEL);
      seen.add('served' in outcome ? outcome.served : outcome.code);
    }
    return seen;
  };

  it.each(WAYS)('[G121] %s: goes to the worker that holds every pair', async (_, ask) => {
    expect(await servers(ask, 'tenant=acme, tier=gpu-h100')).toEqual(new Set([acme.url]));
    expect(await servers(ask, 'tenant=other')).toEqual(new Set([other.url]));
    expect('served' in (await ask(gateway.url, {}, MODEL))).toBe(true);
  });

  it.each(WAYS)('[G122] %s: only well-formed pairs count', async (_, ask) => {
    expect(await servers(ask, 'garbage, =nokey, tenant=other')).toEqual(new Set([other.url]));
    expect(await servers(ask, 'flag=')).toEqual(new Set([acme.url]));
    expect('served' in (await ask(gateway.url, { [FILTER]: 'garbage' }, MODEL))).toBe(true);
  });

  it.each(WAYS)('[G123] %s: nobody left is 503, an unknown model 404', async (way, ask) => {
    const before = [acme, other].map(({ counters }) => counters.received);
    expect(await ask(gateway.url, { [FILTER]: 'tenant=nobody' }, MODEL)).toEqual({
      status: 503,
      code: 'workers_filtered',
    });
    // Where the model stands in a body that nobody reads, any worker may serve.
    if (way !== UNREAD) {
      const unheard = await ask(gateway.url, { [FILTER]: 'tenant=nobody' }, UNHEARD);
      expect(unheard).toMatchObject({ status: 404 });
    }
    expect([acme, other].map(({ counters }) => counters.received)).toEqual(before);
  });
});

describe('the label filter and sticky sessions', () => {
  it('[G124] a conversation is kept among the filtered workers alone, and returns', async () => {
    const engines = await Promise.all(Array.from({ length: 3 }, () => new MockEngine().start()));
    const gateway = await startGateway({
      routing: { policy: 'round_robin', workerFilterHeader: FILTER, routingKeyOverride: true },
      retry: { disabled: true },
      health: { checksDisabled: true },
    });
    const workers = workersOf(gateway.url);
    for (const [at, { url }] of engines.entries()) {
      await workers.added({ url, labels: { at: String(at), tier: at === 0 ? 'a' : 'b' } });
    }
    const ask = async (rid: string, filter?: string): Promise<string> => {
      const got = await send(`${gateway.url}/v1/completions`, {
        headers: filter === undefined ? {} : { [FILTER]: filter },
        body: { model: MODEL, prompt: 'x', rid },
      });
      return got.status === 200
        ? String(got.headers['x-smg-routed-worker-id'])
        : String(got.json['error'].code);
    };
    try {
      // Pinned to the only worker of its tier; the filter is stronger than the pin.
      const [home] = engines.map(({ url }) => url);
      expect(await ask('conv_t0', 'tier=a')).toBe(home);
      for (let turn = 1; turn < 4; turn += 1) expect(await ask(`conv_t${turn}`)).toBe(home);
      const elsewhere = await ask('conv_t4', 'tier=b');
      expect(engines.slice(1).map(({ url }) => url)).toContain(elsewhere);
      for (let turn = 5; turn < 8; turn += 1) {
        expect(await ask(`conv_t${turn}`, 'tier=b')).toBe(elsewhere);
      }
      expect(await ask('conv_t8', 'tier=c')).toBe('workers_filtered');
      expect(await ask('conv_t9', 'tier=a')).toBe(home);
    } finally {
      await gateway.close();
      await Promise.all(engines.map((engine) => engine.stop()));
    }
  });
});
