import { MockEngine } from '@smg/testing';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';
import { workersOf } from '../support/workers';

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- JSON of any shape
type Json = Record<string, any>;

/** One request as a reader of the document would send it. */
interface Try {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Json[];
  readonly body: unknown;
  readonly documented: readonly string[];
}

/** Every operation with each of its examples. */
function triesOf(document: Json): Try[] {
  return Object.entries<Json>(document['paths']).flatMap(([path, item]) =>
    Object.entries<Json>(item).flatMap(([method, operation]) => {
      const media = operation['requestBody']?.content;
      // Forms have no examples to paste; a WebSocket is no request.
      if (media?.['multipart/form-data'] !== undefined || '101' in operation['responses'])
        return [];
      const content = media?.['application/json'];
      const bodies: [string, unknown][] =
        content === undefined
          ? [['', undefined]]
          : Object.entries<Json>(content.examples).map(([name, it]) => [name, it['value']]);
      return bodies.map(([example, body]) => ({
        name: `${method.toUpperCase()} ${path} ${example}`.trim(),
        method: method.toUpperCase(),
        path,
        parameters: operation['parameters'] ?? [],
        body,
        documented: Object.keys(operation['responses']),
      }));
    }),
  );
}

/** Routes of vLLM and its kin, which SGLang has not. */
const TOKEN_ROUTES = new Set([
  '/inference/v1/generate',
  '/skyrl/v1/generate',
  '/v1/chat/completions/render',
  '/tokenize',
  '/detokenize',
]);

describe('the examples of the OpenAPI document', () => {
  let engines: MockEngine[];
  let gateway: RunningGateway;
  /** In front of an engine that has the routes of {@link TOKEN_ROUTES}. */
  let tokens: RunningGateway;
  let document: Json;
  let ids: Record<string, string>;

  beforeAll(async () => {
    engines = [await new MockEngine({}).start(), await new MockEngine({}).start()];
    gateway = await startGateway({ rl: { enabled: true } }, { engines });
    const voice = await new MockEngine({ apiKey: 'own' }).start();
    engines.push(voice);
    await workersOf(gateway.url).added({
      url: voice.url,
      api_key: 'own',
      labels: { realtime: 'true' },
    });
    const vllm = await new MockEngine({ kind: 'vllm' }).start();
    engines.push(vllm);
    tokens = await startGateway({}, { engines: [vllm] });
    document = (await send(`${gateway.url}/openapi.json`)).json;
    const { workers } = (await send(`${gateway.url}/workers`)).json;
    const post = async (path: string, body: object): Promise<Json> =>
      (await send(gateway.url + path, { body })).json;
    const items = [{ type: 'message', role: 'user', content: 'hi' }];
    const conversation = await post('/v1/conversations', { items });
    const path = `/v1/conversations/${String(conversation['id'])}/items`;
    ids = {
      uuid: workers[0].id,
      url: workers[1].url,
      response: (await post('/v1/responses', { model: 'mock-model', input: 'hi' }))['id'],
      conversation: conversation['id'],
      item: (await send(gateway.url + path)).json['first_id'],
    };
  });
  afterAll(async () => {
    await gateway.close();
    await tokens.close();
    for (const engine of engines) await engine.stop();
  });

  /** What exists, in the place of what stands in the example. */
  const valueOf = (path: string, parameter: Json): string => {
    const { name, schema } = parameter as { name: string; schema: Json };
    if (name === 'url') return ids['url'] ?? '';
    if (name === 'item_id') return ids['item'] ?? '';
    if (name !== 'id') return String(schema['example']);
    if (path.startsWith('/v1/responses')) return ids['response'] ?? '';
    if (path.startsWith('/v1/conversations')) return ids['conversation'] ?? '';
    return (schema['format'] === 'uuid' ? ids['uuid'] : ids['url']) ?? '';
  };

  const sendTry = async ({ method, path, parameters, body }: Try): Promise<number> => {
    let target = path;
    const query = new URLSearchParams();
    for (const parameter of parameters) {
      if (parameter['in'] === 'path') {
        target = target.replace(
          `{${String(parameter['name'])}}`,
          encodeURIComponent(valueOf(path, parameter)),
        );
      }
      if (parameter['in'] === 'query' && parameter['required'] === true) {
        query.set(parameter['name'], valueOf(path, parameter));
      }
    }
    const { url: base } = TOKEN_ROUTES.has(path) ? tokens : gateway;
    const url = `${base}${target}${query.size > 0 ? `?${query.toString()}` : ''}`;
    // A replaced worker keeps its URL.
    const own = method === 'PUT' ? { ...(body as Json), url: ids['url'] } : body;
    const answer = await send(url, { method, ...(own === undefined ? {} : { body: own }) });
    return answer.status;
  };

  /** Every engine takes requests again, whatever an example before did. */
  const wakeEngines = async (): Promise<void> => {
    const selector = 'selector=engine%3Dsglang';
    await send(`${gateway.url}/v1/rl/engine/continue_generation?${selector}`, { body: {} });
    await send(`${gateway.url}/v1/rl/state?${selector}`, { body: { control: 'active' } });
  };

  it('work when pasted: each gets a success that is documented', async () => {
    const found: string[] = [];
    const order = ({ method, path, body }: Try): number => {
      if (path === '/remove_worker') return 2;
      if (method !== 'DELETE') return body === undefined ? 0 : 1;
      // What is inside goes first.
      return 100 - path.split('/').length;
    };
    const tries = triesOf(document).sort((one, other) => order(one) - order(other));
    for (const it of tries) {
      if (!it.path.startsWith('/v1/rl')) await wakeEngines();
      const status = await sendTry(it);
      if (status < 200 || status > 299) found.push(`${it.name}: ${status}`);
      if (!it.documented.includes(String(status))) found.push(`${it.name}: ${status} undocumented`);
    }
    expect(found).toEqual([]);
    expect(tries.length).toBeGreaterThan(40);
  }, 60_000);

  it('fail as documented where there is no such worker or entry', async () => {
    const found: string[] = [];
    for (const it of triesOf(document)) {
      if (!it.path.includes('{id}')) continue;
      const path = it.path
        .replace('{id}', '00000000-0000-7000-8000-000000000000')
        .replace('{path}', 'server_info');
      const answer = await send(gateway.url + path, {
        method: it.method,
        ...(it.body === undefined ? {} : { body: it.body }),
      });
      if (answer.status !== 404 || !it.documented.includes('404')) found.push(it.name);
    }
    expect(found).toEqual([]);
  });
});
