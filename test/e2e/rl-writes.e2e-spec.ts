import { MockEngine } from '@smg/testing';
import { sendRaw, statusOf } from './support/raw-client';
import { sample } from './support/scrape';
import { startAll, startRl, type RlGateway } from './support/rl';

describe('writes of versions and states', () => {
  const one = new MockEngine();
  const two = new MockEngine();
  let gateway: RlGateway;
  let stop: () => Promise<void>;
  let id: string;
  beforeAll(async () => {
    stop = await startAll(one, two);
    gateway = await startRl({}, { engines: [one, two] });
    id = await gateway.rl.id(one);
  });
  afterAll(async () => {
    await gateway.close();
    await stop();
  });

  it('[RL52] a version shows in the row and in the list; no engine is called', async () => {
    const before = one.counters.byRoute.size;
    const got = await gateway.rl.setVersion(one, '  42 ');
    expect([got.status, got.json]).toMatchObject([
      200,
      { id, weight_version: '42', version_source: 'api', control: 'active' },
    ]);
    expect(await gateway.rl.row(one)).toEqual(got.json);
    expect(await gateway.rl.row(two)).toMatchObject({ weight_version: null });
    expect(one.counters.byRoute.size).toBe(before);
  });

  it('[RL60] the version it has already: 200, the source flips, nothing else happens', async () => {
    await gateway.rl.call(one, 'update_weight_version', { body: { new_version: '50' } });
    expect(await gateway.rl.row(one)).toMatchObject({ version_source: 'passthrough' });
    const log = gateway.rawLogs.filter((line) => line.includes('rl.observe version')).length;
    const got = await gateway.rl.setVersion(one, '050');
    expect(got.json).toMatchObject({ weight_version: '050', version_source: 'api' });
    expect(gateway.rawLogs.filter((line) => line.includes('rl.observe version'))).toHaveLength(log);
    const page = await gateway.metrics();
    expect(sample(page, 'smg_rl_version_change_with_inflight_total')).toBe(0);
  });

  it('[RL53] a state shows; an unknown id is 404; an unknown state is invalid_body', async () => {
    expect((await gateway.rl.setControl(one, 'asleep')).json).toMatchObject({ control: 'asleep' });
    expect((await gateway.rl.setControl(one, 'active')).json).toMatchObject({ control: 'active' });
    const unknown = await gateway.rl.ask('/workers/x/state', { body: { control: 'paused' } });
    expect([unknown.status, unknown.json['error']]).toEqual([404, 'worker_not_found']);
    for (const control of ['napping', 'Paused', '', 1, null]) {
      const got = await gateway.rl.setControl(one, control);
      expect([control, got.status, got.json['error']]).toEqual([control, 400, 'invalid_body']);
    }
  });

  it.each([
    ['  ', 'weight_version is empty'],
    ['x'.repeat(129), 'weight_version exceeds 128 bytes'],
    ['a\u0001', 'weight_version contains a byte outside printable ASCII'],
    ['a b', 'weight_version contains a byte outside printable ASCII'],
    ['é', 'weight_version contains a byte outside printable ASCII'],
  ])('[RL54] version %j is invalid_version', async (version, message) => {
    const got = await gateway.rl.setVersion(one, version);
    expect([got.status, got.json]).toEqual([400, { error: 'invalid_version', message }]);
  });

  it.each([
    ['a number', '{"weight_version": 7}', 'application/json'],
    ['null', '{"weight_version": null}', 'application/json'],
    ['no member', '{}', 'application/json'],
    ['an array', '["7"]', 'application/json'],
    ['broken JSON', '{"weight_version": "7"', 'application/json'],
    ['another type', '{"weight_version": "7"}', 'text/plain'],
    ['no media type', '{"weight_version": "7"}', 'json'],
    ['JSON by another name', '{"weight_version": "7"}', 'application/jsonish'],
    ['no UTF-8', Buffer.from('{"weight_version": "\xff"}', 'latin1'), 'application/json'],
  ])('[RL55] %s is invalid_body', async (_, body, type) => {
    const headers = { 'content-type': type };
    const got = await gateway.rl.ask(`/workers/${id}/version`, { body, headers });
    expect([got.status, got.json['error']]).toEqual([400, 'invalid_body']);
    expect(typeof got.json['message']).toBe('string');
  });

  it('[RL55] an absent body and a body without a type are invalid_body', async () => {
    const head = `POST /v1/rl/workers/${id}/version HTTP/1.1\r\nHost: g\r\nConnection: close\r\n`;
    const body = '{"weight_version":"7"}';
    for (const request of [
      `${head}\r\n`,
      `${head}Content-Type: application/json\r\nContent-Length: 0\r\n\r\n`,
      `${head}Content-Length: ${body.length}\r\n\r\n${body}`,
    ]) {
      const { text } = await sendRaw(gateway.port, request);
      expect(statusOf(text)).toBe(400);
      expect(text).toContain('"error":"invalid_body"');
    }
  });

  it('further members are ignored, names that mean something to JavaScript included', async () => {
    const body = '{"constructor": 1, "__proto__": {"a": 1}, "weight_version": "8", "more": []}';
    const headers = { 'content-type': 'application/vnd.acme+json; charset=utf-8' };
    const got = await gateway.rl.ask(`/workers/${id}/version`, { body, headers });
    expect([got.status, got.json['weight_version']]).toEqual([200, '8']);
  });

  it('[RL56] a fleet write answers with the engines that match, and leaves the others', async () => {
    const got = await gateway.rl.setFleetVersion('9', `base_url=${two.url}`);
    expect(got.json).toMatchObject({
      protocol_version: 1,
      total: 1,
      workers: [{ base_url: two.url, weight_version: '9', version_source: 'api' }],
    });
    expect(await gateway.rl.row(one)).toMatchObject({ weight_version: '8' });
    const all = await gateway.rl.setFleetControl('paused', 'engine=sglang');
    expect(all.json).toMatchObject({
      total: 2,
      workers: [{ control: 'paused' }, { control: 'paused' }],
    });
    await gateway.rl.setFleetControl('active', 'engine=sglang');
  });

  it('[RL57] a fleet write needs a selector that matches', async () => {
    const got = await gateway.rl.ask('/state', { body: { control: 'paused' } });
    expect([got.status, got.json['error']]).toEqual([400, 'selector_required']);
    const none = await gateway.rl.setFleetControl('paused', 'engine=vllm');
    expect(none.json).toMatchObject({ error: 'no_workers_match', selector: 'engine=vllm' });
  });

  it('[RL58] the body is judged first, then the version, then the selector', async () => {
    const code = async (body: object): Promise<unknown> =>
      (await gateway.rl.ask('/version?selector=engine%3D%3D', { body })).json['error'];
    expect(await code({ weight_version: 1 })).toBe('invalid_body');
    expect(await code({ weight_version: ' ' })).toBe('invalid_version');
    expect(await code({ weight_version: '1' })).toBe('invalid_selector');
    const unknown = async (body: object): Promise<unknown> =>
      (await gateway.rl.ask('/workers/x/version', { body })).json['error'];
    expect(await unknown({ weight_version: 1 })).toBe('invalid_body');
    expect(await unknown({ weight_version: ' ' })).toBe('invalid_version');
    expect(await unknown({ weight_version: '1' })).toBe('worker_not_found');
  });
});
