import { textOf } from '../contract/support/pages';
import { type Answer } from '../support/http';
import { until } from '../support/until';
import { PATIENT, startFleet, type Fleet } from './support/fleet';
import { describeUnsupported } from './support/not-supported';
import { Trainer, type Persistence } from './support/trainer';

// verl's adapter for SGLang over HTTP: adds its server at the start, removes it at the end, and logs what
// goes wrong in between without failing.

/** Anything but an error is taken; it backs off between attempts. */
const BACKS_OFF: Persistence = { tries: 3, pauseMs: 50, takes: ({ status }) => status < 400 };

describe('verl', () => {
  let fleet: Fleet;
  const add = (url: string): Promise<Answer> => fleet.trainer.post(`/add_worker?url=${url}`);
  beforeEach(async () => {
    fleet = await startFleet({
      persistence: BACKS_OFF,
      engine: { tokens: 6, tokenLatencyMs: 10 },
      config: { retry: PATIENT },
    });
  });
  afterEach(() => fleet.stop());

  it.each([
    ['as it is', (url: string) => url],
    ['percent-encoded', encodeURIComponent],
  ])('adds its server with the URL in the query, %s, and no body', async (_, written) => {
    const answer = await add(written(fleet.engine(0).url));
    expect(answer.status).toBe(200);
    const { urls } = (await fleet.trainer.get('/list_workers')).json;
    expect(urls).toEqual([fleet.engine(0).url]);
    const { workers } = (await fleet.trainer.get('/workers')).json;
    expect(workers.map(({ url, status }: Record<string, string>) => [url, status])).toEqual([
      [fleet.engine(0).url, 'ready'],
    ]);
  });

  it('is served as soon as it was added, and no more once it was removed', async () => {
    const { trainer } = fleet;
    for (const { url } of fleet.engines) await add(url);
    const [{ url: first }, second] = [fleet.engine(0), fleet.engine(1)];
    const plain = new Trainer(trainer.url);
    for (let at = 0; at < 4; at += 1) {
      expect((await plain.post('/generate', { input_ids: [at] })).status).toBe(200);
    }
    expect((await trainer.post(`/remove_worker?url=${first}`)).status).toBe(200);
    const seen = fleet.engine(0).counters.of('/generate');
    for (let at = 0; at < 4; at += 1) {
      const answer = await plain.post('/generate', { input_ids: [at] });
      expect(answer.headers['x-smg-routed-worker-id']).toBe(second.url);
    }
    expect(fleet.engine(0).counters.of('/generate')).toBe(seen);
    plain.close();
  });

  it('errors of the registration are JSON to be logged, and harm nothing', async () => {
    const plain = new Trainer(fleet.trainer.url);
    const gone = await plain.post('/remove_worker?url=http://127.0.0.1:1');
    expect(gone.status).toBeGreaterThanOrEqual(400);
    expect(gone.json).toMatchObject({ error: expect.anything() });
    for (const query of ['', '?url=', '?url=not%20a%20url', '?url=grpc://h:1']) {
      const refused = await plain.post(`/add_worker${query}`);
      expect([query, refused.status]).toEqual([query, expect.any(Number)]);
      expect(refused.status).toBeGreaterThanOrEqual(400);
      expect(refused.status).toBeLessThan(500);
      expect(refused.json).toMatchObject({ error: expect.anything() });
    }
    expect((await add(fleet.engine(0).url)).status).toBe(200);
    plain.close();
  });

  it('colocated step: release, resume weights, load tensors, resume the cache, then roll out', async () => {
    for (const { url } of fleet.engines) await add(url);
    for (const { url } of fleet.engines) {
      const direct = (path: string, body: object): Promise<Answer> =>
        fleet.trainer.post(`${url}/${path}`, body);
      for (const [path, body] of [
        ['release_memory_occupation', { tags: ['kv_cache', 'weights'] }],
        ['resume_memory_occupation', { tags: ['weights'] }],
        ['update_weights_from_tensor', { serialized_named_tensors: ['AA=='], flush_cache: false }],
        ['resume_memory_occupation', { tags: ['kv_cache'] }],
      ] as const) {
        expect([path, (await direct(path, body)).status]).toEqual([path, 200]);
      }
      expect((await fleet.trainer.get(`${url}/flush_cache`)).status).toBe(200);
      expect((await fleet.trainer.get(`${url}/health_generate`)).status).toBe(200);
    }
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, at) =>
        fleet.trainer.post('/generate', { input_ids: [at], return_logprob: true }),
      ),
    );
    for (const { json } of answers) {
      expect(json['meta_info'].output_token_logprobs).toHaveLength(6);
    }
  });

  it('a weight sync aborts what runs; prompt and partial answer are sent again and complete', async () => {
    for (const { url } of fleet.engines) await add(url);
    const start = [1, 2, 3];
    const partial: number[] = [];
    let turns = 0;
    const finish = async (): Promise<string> => {
      for (;;) {
        turns += 1;
        const { json } = await fleet.trainer.post('/generate', {
          input_ids: [...start, ...partial],
          sampling_params: { max_new_tokens: 64 },
        });
        partial.push(...(json['output_ids'] as number[]));
        const { type } = json['meta_info'].finish_reason;
        if (type !== 'abort') return type as string;
      }
    };
    const done = finish();
    await until('it runs', () =>
      fleet.engines.some(({ state }) => [...state.running].some(({ tokens }) => tokens.length > 1)),
    );
    for (const { url } of fleet.engines) {
      await fleet.trainer.post(`${url}/abort_request`, { rid: '', abort_all: true });
    }
    expect(await done).toBe('stop');
    expect(turns).toBe(2);
    expect(partial.length).toBeGreaterThan(6);
  });

  it('the reward router: chat over engines it was launched with', async () => {
    await fleet.stop();
    fleet = await startFleet({ isKnown: true, persistence: BACKS_OFF });
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, at) =>
        fleet.trainer.post('/v1/chat/completions', {
          model: 'mock-model',
          messages: [{ role: 'user', content: `judge ${at}` }],
        }),
      ),
    );
    expect(answers.map(({ json }) => json['choices'][0].message.role as string)).toEqual(
      Array(6).fill('assistant'),
    );
    expect(fleet.engines.map(({ counters }) => counters.of('/v1/chat/completions'))).toEqual([
      3, 3,
    ]);
  });

  describeUnsupported(
    () => fleet.gateway.url,
    [
      {
        what: 'a server that is added with gRPC',
        why: 'engines are spoken to over HTTP in this version',
        method: 'POST',
        path: '/add_worker?url=grpc://127.0.0.1:1',
        status: 400,
      },
    ],
    () => textOf('docs/frameworks/verl.md'),
  );
});
