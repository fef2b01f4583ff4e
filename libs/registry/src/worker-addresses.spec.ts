import { type WorkerAddresses } from '@smg/plugin-api';
import { bootRegistry, type Rig } from '../test/rig';
import { WorkerCommands } from './worker.commands';

const E1 = 'http://e1:8000';

let rig: Rig | undefined;

afterEach(async () => {
  await rig?.close();
  rig = undefined;
});

/** Refuses what the test says, and remembers what was asked. */
class Judge implements WorkerAddresses {
  readonly asked: string[] = [];
  atOnce: string | undefined;
  resolved: () => Promise<string | undefined> = () => Promise.resolve(undefined);

  refusalOf(url: string): string | undefined {
    this.asked.push(url);
    return this.atOnce;
  }

  check(url: string): Promise<string | undefined> {
    this.asked.push(`${url} resolved`);
    return this.resolved();
  }
}

it('refuses an address at once, for POST and PUT, and asks about the engine without its rank', async () => {
  const judge = new Judge();
  rig = await bootRegistry({}, judge);
  const id = await rig.add({ url: `${E1}@1` });
  expect(judge.asked).toEqual([E1, `${E1} resolved`]);
  judge.atOnce = 'not there';
  for (const answer of [
    await rig.call('POST', '/workers', { url: 'http://e2:8000' }),
    await rig.call('PUT', `/workers/${id}`, { url: `${E1}@1` }),
  ]) {
    expect([answer.status, answer.json]).toEqual([
      400,
      { error: 'not there', code: 'BAD_REQUEST' },
    ]);
  }
});

it('fails the registration of a name that resolves to a refused address, without connecting', async () => {
  const judge = new Judge();
  judge.resolved = () => Promise.resolve('resolves to a bad place');
  rig = await bootRegistry({}, judge);
  const id = await rig.add({ url: E1 });
  expect((await rig.call('GET', `/workers/${id}`)).json).toMatchObject({
    status: 'pending',
    job_status: { status: 'failed', message: 'resolves to a bad place' },
  });
  expect(rig.caller.calls).toEqual([]);
});

it('asks again at every attempt: a name may come to life at a refused address', async () => {
  const judge = new Judge();
  rig = await bootRegistry({ startupCheckIntervalSecs: 1 }, judge);
  rig.caller.on('/health', { status: 503 });
  const id = await rig.add({ url: E1 });
  judge.resolved = () => Promise.resolve('now in a bad place');
  rig.time.advance(1000);
  await rig.flush();
  expect((await rig.call('GET', `/workers/${id}`)).json).toMatchObject({
    job_status: { status: 'failed', message: 'now in a bad place' },
  });
});

it('calls a registration off even while its name is being resolved', async () => {
  const judge = new Judge();
  judge.resolved = () => new Promise(() => undefined);
  rig = await bootRegistry({ jobQueueConcurrency: 1 }, judge);
  const id = await rig.add({ url: E1 });
  rig.app.get(WorkerCommands).remove(id);
  await rig.flush();
  judge.resolved = () => Promise.resolve(undefined);
  await rig.add({ url: 'http://e2:8000' });
  expect(rig.registry.total).toBe(1);
});

it('stops the start for a worker of the command line, named by its place', async () => {
  const judge = new Judge();
  judge.atOnce = 'not there';
  const startupWorkers = [{ url: E1, workerType: 'regular' as const }];
  await expect(bootRegistry({ startupWorkers }, judge)).rejects.toThrow(
    'start-up worker 1: not there',
  );
});
