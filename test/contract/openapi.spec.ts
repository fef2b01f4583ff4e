import { ERROR_CODES, WORKER_API_CODES } from '@smg/protocol';
import { RL_ERROR_STATUS } from '@smg/rl';
import { planesOfRoutes } from '../../src/fastify/route-planes';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';
import { faultsOf } from './support/openapi-rules';
import { textOf } from './support/pages';

const PAGE = 'docs/openapi.json';

type Document = Record<string, any>; // eslint-disable-line @typescript-eslint/no-explicit-any -- JSON of any shape

const routesOf = (document: Document): string[] =>
  Object.entries<object>(document['paths'])
    .flatMap(([path, item]) => Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`))
    .sort();

/** Routes as Nest's router has them, written as OpenAPI writes them. */
const declaredBy = ({ gateway }: RunningGateway): string[] =>
  [...planesOfRoutes(gateway.app).declared.keys()]
    .map((route) => route.replaceAll(/:(\w+)/g, '{$1}').replace(/\*$/, '{path}'))
    .sort();

const documentOf = async ({ url }: RunningGateway): Promise<Document> =>
  (await send(`${url}/openapi.json`)).json;

describe('the OpenAPI document', () => {
  let full: RunningGateway;
  let plain: RunningGateway;

  beforeAll(async () => {
    full = await startGateway({ rl: { enabled: true, routerVerbs: true } });
    plain = await startGateway();
  });
  afterAll(async () => {
    await full.close();
    await plain.close();
  });

  it(`is ${PAGE}; npm run openapi rewrites it`, async () => {
    const document = await documentOf(full);
    expect(textOf(PAGE)).toBe(`${JSON.stringify(document, null, 2)}\n`);
  });

  it('keeps the rules of OpenAPI 3.0', async () => {
    expect(faultsOf(await documentOf(full))).toEqual([]);
    expect(faultsOf(await documentOf(plain))).toEqual([]);
  });

  it('has every route of the router, and no other', async () => {
    expect(routesOf(await documentOf(full))).toEqual(declaredBy(full));
    expect(routesOf(await documentOf(plain))).toEqual(declaredBy(plain));
  });

  it('speaks of RL only where RL is on', async () => {
    expect(JSON.stringify(await documentOf(plain))).not.toContain('/v1/rl');
    const { tags } = await documentOf(plain);
    expect(tags.map(({ name }: { name: string }) => name)).not.toContain('RL control plane');
    expect(routesOf(await documentOf(full)).filter((it) => it.includes('/v1/rl'))).toHaveLength(10);
  });

  it('names the schemas of the RL wire as its clients know them', async () => {
    const { components } = await documentOf(full);
    expect(Object.keys(components.schemas)).toEqual(
      expect.arrayContaining([
        ...['RlWorkersResponse', 'RlWorkerEntry', 'RlCallOutcome', 'RlFanoutResponse'],
        ...['RlSetVersionRequest', 'RlSetControlRequest', 'RlCapabilities', 'RlFailedCall'],
      ]),
    );
  });

  it('demands of each route what its plane does', async () => {
    const document = await documentOf(full);
    const keys = { control: [{ 'control-plane': [] }], data: [{ serving: [] }], public: [] };
    for (const [route, plane] of planesOfRoutes(full.gateway.app).declared) {
      const [method = '', template = ''] = route.split(' ');
      const path = template.replaceAll(/:(\w+)/g, '{$1}').replace(/\*$/, '{path}');
      const { security } = document['paths'][path][method.toLowerCase()];
      expect([route, security]).toEqual([route, keys[plane]]);
    }
  });

  it('declares every code there is', async () => {
    const text = JSON.stringify(await documentOf(full));
    /** Reserved; the last event of a stream, not an answer; of log and metrics alone. */
    const elsewhere = [
      'invalid_request',
      'upstream_stream_truncated',
      'scheduler_client_cancelled',
    ];
    const missing = [ERROR_CODES, WORKER_API_CODES, RL_ERROR_STATUS]
      .flatMap((table) => Object.keys(table))
      .filter((code) => !elsewhere.includes(code) && !text.includes(`\`${code}\``));
    expect(missing).toEqual([]);
  });

  it('gives every request body an example', async () => {
    const document = await documentOf(full);
    const bare = Object.entries<Document>(document['paths']).flatMap(([path, item]) =>
      Object.values<Document>(item)
        .filter(({ requestBody }) => requestBody !== undefined)
        .filter((it) =>
          Object.values<Document>(it['requestBody'].content).some(({ examples }) => !examples),
        )
        .map(() => path),
    );
    expect(bare).toEqual([]);
  });

  it('is made once: asked again, it is the same, and 304 to who has it', async () => {
    const first = await send(`${full.url}/openapi.json`);
    const etag = String(first.headers.etag);
    const again = await send(`${full.url}/openapi.json`, { headers: { 'if-none-match': etag } });
    expect([again.status, again.text]).toEqual([304, '']);
  });
});

describe('the rules', () => {
  const sound = (): Document => JSON.parse(textOf(PAGE));

  it.each<[string, (document: Document) => void]>([
    ['leads nowhere', (it) => (it['components'].schemas.Worker = undefined)],
    ['no summary', (it) => delete it['paths']['/workers'].get.summary],
    ['an empty schema', (it) => (it['components'].schemas.Error = {})],
    ['unknown kind', (it) => (it['paths']['/workers'].get.kind = 1)],
    ['id workersAdd', (it) => (it['paths']['/workers'].get.operationId = 'workersAdd')],
    ['path has id', (it) => (it['paths']['/workers/{id}'].get.parameters = [])],
  ])('find %s', (fault, spoil) => {
    const document = sound();
    spoil(document);
    expect(faultsOf(JSON.parse(JSON.stringify(document))).join('\n')).toContain(fault);
  });
});
