import { WORKER_REGISTRAR, type WorkerRegistrar } from '@smg/plugin-api';
import { bootRegistry, INFO, type Rig } from '../test/rig';
import { type RegistryOptions } from './core/registry-options';
import { RegistrationWaiter } from './registration.waiter';

const E1 = 'http://e1:8000';
const NOBODY_LEAVES = new AbortController().signal;

let rig: Rig;
const boot = async (options?: Partial<RegistryOptions>): Promise<Rig> =>
  (rig = await bootRegistry(options));
const registrar = (): WorkerRegistrar => rig.app.get(WORKER_REGISTRAR);

afterEach(async () => {
  await rig.close();
  expect(rig.time.pending).toBe(0);
});

/** Lets a request that was sent reach its handler: that takes turns of the event loop. */
async function reach(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
}

/** POST /workers, its answer yet to come. */
function post(prefer?: string): Promise<{ status: number; json: unknown; applied: unknown }> {
  const headers = prefer === undefined ? {} : { prefer };
  return rig.app
    .inject({ method: 'POST', url: '/workers', payload: { url: E1 }, headers })
    .then(({ statusCode, body, headers: sent }) => ({
      status: statusCode,
      json: JSON.parse(body) as unknown,
      applied: sent['preference-applied'],
    }));
}

/** An engine that becomes healthy when told to. */
function holdHealth(): () => void {
  let answer = (): void => undefined;
  const held = new Promise<void>((resolve) => (answer = resolve));
  rig.caller.on('/health', () => held.then(() => ({ status: 200 })));
  return () => {
    answer();
  };
}

describe('POST /workers with Prefer: wait', () => {
  it('answers 200 when the worker can be routed to, not before', async () => {
    const { registry } = await boot();
    const wellNow = holdHealth();
    let isAnswered = false;
    const answer = post('wait=20').finally(() => (isAnswered = true));
    await reach();
    expect(isAnswered).toBe(false);
    wellNow();
    const { status, json, applied } = await answer;
    expect(status).toBe(200);
    expect(applied).toBe('wait=20');
    expect(json).toMatchObject({ status: 'ready', url: E1, message: 'Worker is ready' });
    expect(registry.readyCount).toBe(1);
  });

  it('answers 202 when the time is over; the registration goes on', async () => {
    const { flush, time, registry } = await boot();
    const wellNow = holdHealth();
    const answer = post('wait=5');
    await reach();
    await time.advanceAsync(5000);
    expect(await answer).toMatchObject({ status: 202, json: { status: 'accepted' } });
    wellNow();
    await flush();
    expect(registry.readyCount).toBe(1);
  });

  it('says why when the registration fails', async () => {
    const { caller } = await boot({ startupTimeoutSecs: 1 });
    caller.on('/health', { status: 503 });
    const answer = post('wait=60');
    await reach();
    await rig.time.advanceAsync(1000);
    await rig.flush();
    const { status, json } = await answer;
    expect(status).toBe(502);
    expect(json).toMatchObject({
      code: 'WORKER_REGISTRATION_FAILED',
      error: expect.stringContaining('GET /health answered 503'),
    });
    await rig.time.advanceAsync(400_000);
  });

  it('waits no longer than five minutes', async () => {
    const { time } = await boot();
    holdHealth();
    const answer = post('wait=99999');
    await reach();
    await time.advanceAsync(300_000);
    expect(await answer).toMatchObject({ status: 202, applied: 'wait=300' });
  });

  it('without the header the option counts, and the header over it', async () => {
    const { flush, time } = await boot({ registrationWaitSecs: 2 });
    holdHealth();
    const answer = post();
    await reach();
    await time.advanceAsync(2000);
    expect(await answer).toMatchObject({ status: 202, applied: undefined });
    await rig.call('DELETE', `/workers/${encodeURIComponent(E1)}`);
    await flush();
    expect(await post('wait=0')).toMatchObject({ status: 202, applied: 'wait=0' });
  });

  it('a removal meanwhile ends the wait', async () => {
    const { call } = await boot();
    holdHealth();
    const answer = post('wait=20');
    await reach();
    await call('DELETE', `/workers/${encodeURIComponent(E1)}`);
    expect(await answer).toMatchObject({
      status: 502,
      json: { error: expect.stringContaining('removed meanwhile') },
    });
  });
});

describe('WORKER_REGISTRAR', () => {
  it('joins what is there or on its way', async () => {
    const { flush } = await boot();
    const wellNow = holdHealth();
    const first = registrar().ensure({ url: `${E1}/` });
    expect(registrar().ensure({ url: E1 })).toEqual(first);
    wellNow();
    await flush();
    expect(registrar().ensure({ url: E1 })).toEqual(first);
    expect(first).toMatchObject({ ok: true, url: E1 });
  });

  it('tells refusals as values', async () => {
    await boot();
    expect(registrar().ensure({ url: 'ftp://x' })).toMatchObject({ ok: false, status: 400 });
    expect(registrar().removeEngine('ftp://x')).toMatchObject({ ok: false, code: 'BAD_REQUEST' });
    expect(registrar().removeEngine(E1)).toMatchObject({ ok: false, code: 'WORKER_NOT_FOUND' });
  });

  it('removes every rank of an engine, or a registration under way', async () => {
    const { add, caller, flush, registry } = await boot({ dpAware: true, drainSettleSecs: 0 });
    caller.on('/server_info', { body: { ...INFO, dp_size: 3 } });
    await add({ url: E1 });
    expect(registry.total).toBe(3);
    expect(registrar().removeEngine(`${E1}/`)).toMatchObject({ ok: true, url: E1 });
    await flush();
    expect(registry.total).toBe(0);
    holdHealth();
    registrar().ensure({ url: E1 });
    expect(registrar().removeEngine(E1)).toMatchObject({ ok: true });
    expect(registrar().removeEngine(E1)).toMatchObject({ ok: false });
  });

  it('removes what drains and what waits to follow it', async () => {
    const { add, flush, registry } = await boot();
    await add({ url: E1 });
    expect(registrar().removeEngine(E1)).toMatchObject({ ok: true });
    const next = registrar().ensure({ url: E1 });
    if (!next.ok) throw new Error(next.message);
    const said = registrar().outcomeOf(next.id, 60_000, NOBODY_LEAVES);
    expect(registrar().removeEngine(E1)).toMatchObject({ ok: true });
    await flush();
    expect(registry.total).toBe(0);
    expect(await said).toEqual({ kind: 'failed', message: 'the worker was removed meanwhile' });
  });

  it('ends a wait when its client leaves, and when the gateway ends', async () => {
    const { flush, app } = await boot();
    holdHealth();
    const added = registrar().ensure({ url: E1 });
    if (!added.ok) throw new Error(added.message);
    const client = new AbortController();
    const waiter = app.get(RegistrationWaiter);
    const left = waiter.outcomeOf(added.id, 60_000, client.signal);
    const stays = waiter.outcomeOf(added.id, 60_000, NOBODY_LEAVES);
    await flush();
    client.abort();
    expect(await left).toEqual({ kind: 'pending' });
    waiter.beforeApplicationShutdown();
    expect(await stays).toEqual({ kind: 'pending' });
  });
});
