import { MockEngine } from '@smg/testing';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send, type Answer } from '../support/http';
import { until } from '../support/until';
import { startAll } from './support/rl';

const aborts = (engine: MockEngine): string[] =>
  engine.requestsTo('/abort_request').map(({ body }) => body.toString());

/** A request that runs until it is aborted, with the worker that has it once that is known. */
interface Running {
  readonly answer: Promise<Answer>;
  readonly engine: MockEngine;
}

describe.each([true, false])('/abort_request, requests followed: %s', (tracksIds) => {
  let engines: readonly [MockEngine, MockEngine];
  let vllm: MockEngine;
  let stop: () => Promise<void>;
  let gateway: RunningGateway;

  const abort = (body: unknown): Promise<Answer> => send(`${gateway.url}/abort_request`, { body });

  async function run(rid: unknown): Promise<Running> {
    const counts = engines.map((engine) => engine.requestsTo('/generate').length);
    const text = Array.isArray(rid) ? rid.map(() => 'Hello') : 'Hello';
    const body = { model: 'm', text, rid, sampling_params: { max_new_tokens: 5000 } };
    const answer = send(`${gateway.url}/generate`, { body });
    let engine: MockEngine | undefined;
    await until('an engine has it', () => {
      engine = engines.find((it, at) => it.requestsTo('/generate').length > (counts[at] ?? 0));
      return engine !== undefined;
    });
    if (engine === undefined) throw new Error('no engine');
    return { answer, engine };
  }

  const other = ({ engine }: Running): MockEngine => engines[engine === engines[0] ? 1 : 0];
  const reason = (answer: Answer): string => answer.json['meta_info'].finish_reason.type;

  beforeEach(async () => {
    const slow = { tokens: 5000, tokenLatencyMs: 20, servedModelName: 'm' };
    engines = [new MockEngine(slow), new MockEngine(slow)];
    vllm = new MockEngine({ kind: 'vllm', servedModelName: 'v' });
    stop = await startAll(...engines, vllm);
    gateway = await startGateway(
      { requests: { tracksIds }, routing: { policy: 'round_robin' } },
      { engines: [...engines, vllm] },
    );
  });
  afterEach(async () => {
    await gateway.close();
    await stop();
  });

  it(`a rid: ${tracksIds ? 'the engine that has it, no other' : 'every engine'}`, async () => {
    const running = await run('sample-1');
    const { status, json } = await abort({ rid: 'sample-1' });
    expect([status, json['success'], json['located']]).toEqual([200, true, tracksIds]);
    expect(reason(await running.answer)).toBe('abort');
    expect(aborts(running.engine)).toEqual(['{"rid":"sample-1"}']);
    expect(aborts(other(running))).toHaveLength(tracksIds ? 0 : 1);
  });

  it('a prefix: all of a group, wherever they are', async () => {
    const runs = [await run('group-1'), await run('group-2')];
    const { status } = await abort({ rid: 'group-', prefix: true });
    expect(status).toBe(200);
    for (const { answer } of runs) expect(reason(await answer)).toBe('abort');
  });

  it('one id of a batch', async () => {
    const running = await run(['b-1', 'b-2']);
    expect((await abort({ rid: 'b-2' })).json['located']).toBe(tracksIds);
    await abort({ abort_all: true });
    await running.answer;
  });

  it('abort_all: every engine that can; vLLM has no such route', async () => {
    const runs = [await run('a'), await run('b')];
    const { status, json } = await abort({ abort_all: true });
    expect(status).toBe(200);
    expect(json['asked'].toSorted()).toEqual(engines.map(({ url }) => url).toSorted());
    expect(json['skipped']).toEqual([vllm.url]);
    for (const { answer } of runs) expect(reason(await answer)).toBe('abort');
  });

  it('an id nobody knows goes to every engine, and is no failure', async () => {
    const { status, json } = await abort({ rid: 'elsewhere' });
    expect([status, json['located'], json['asked'].length]).toEqual([200, false, 2]);
  });

  it('what is over is not followed any more', async () => {
    const running = await run('again');
    await abort({ rid: 'again' });
    await running.answer;
    expect((await abort({ rid: 'again' })).json['located']).toBe(false);
  });

  it('an engine that is gone: no failure for one id, one for all', async () => {
    await engines[0].stop();
    expect((await abort({ rid: 'x' })).status).toBe(200);
    const { status, json } = await abort({ abort_all: true });
    expect([status, json['success'], json['failed'].length]).toEqual([502, false, 1]);
  });

  it.each(['', '{', '[]', '{}', '{"rid":7}', '{"rid":""}', '{"rid":["a",1]}'])(
    '%s is refused in JSON',
    async (body) => {
      const { status, json } = await abort(body);
      expect([status, json['error'].code]).toEqual([400, 'invalid_request']);
      expect(engines.flatMap(aborts)).toEqual([]);
    },
  );
});
