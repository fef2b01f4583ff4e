import { Logger } from '@nestjs/common';
import { type LookupAddress } from 'node:dns';
import { type LookupFunction } from 'node:net';
import { FakeMetrics } from '@smg/testing';
import { WorkerAddressGuard } from './worker-address.guard';

const entry = (address: string): LookupAddress => ({
  address,
  family: address.includes(':') ? 6 : 4,
});

/** Answers one list per question, the last one for good. */
function resolver(...answers: readonly string[][]) {
  const asked: string[] = [];
  const lookup: LookupFunction = (name, _options, callback) => {
    const found = answers[Math.min(asked.length, answers.length - 1)] ?? [];
    asked.push(name);
    if (found.length > 0) callback(null, found.map(entry));
    else callback(Object.assign(new Error('unknown'), { code: 'ENOTFOUND' }), []);
  };
  return { asked, lookup };
}

function build(
  lookup?: LookupFunction,
  lists: { allowCidrs?: string[]; denyCidrs?: string[] } = {},
) {
  const metrics = new FakeMetrics();
  const guard = new WorkerAddressGuard(
    { poolIdleTimeoutSecs: 3, ...lists, ...(lookup === undefined ? {} : { lookup }) },
    metrics,
  );
  const connect = (name: string, options: object = { all: true }) =>
    new Promise<unknown>((done) => {
      guard.lookup(name, options, (error, found, family) => {
        done(error ?? (family === undefined ? found : [found, family]));
      });
    });
  const refusals = (stage: string) =>
    metrics
      .counter({ name: 'smg_worker_address_refusals_total', help: '', labels: ['stage'] })
      .cell(stage) as unknown as { readonly value: number };
  return { guard, connect, refusals };
}

beforeAll(() => {
  Logger.overrideLogger(false);
});

describe('URLs with an address', () => {
  it.each([
    'http://169.254.169.254/latest',
    'http://[::ffff:169.254.169.254]:80',
    'http://0xa9fea9fe',
    'http://2852039166@3',
    'http://0251.0376.0251.0376:8000',
    'https://[fe80::1%25eth0]:8000',
    'http://0:8000',
    'http://0.0.0.0:8000',
    'http://[::]:8000',
    'nonsense',
  ])('%s is refused', async (url) => {
    const { guard } = build();
    expect(guard.refusalOf(url)).toBeDefined();
    await expect(guard.check(url)).resolves.toBe(guard.refusalOf(url));
  });

  it.each([
    'http://127.0.0.1:8000',
    'http://0x7f.1',
    'http://[::1]:8000@2',
    'http://10.0.0.1@1',
    'https://[fd00::1%25eth0]:443',
  ])('%s is not', async (url) => {
    const { guard } = build();
    expect(guard.refusalOf(url)).toBeUndefined();
    await expect(guard.check(url)).resolves.toBeUndefined();
  });

  it('says which address and why, and counts', () => {
    const { guard, refusals } = build();
    expect(guard.refusalOf('http://2852039166')).toBe(
      'no worker may be at 169.254.169.254: it is a cloud metadata service (169.254.169.254/32)',
    );
    expect(refusals('registration').value).toBe(1);
    expect(refusals('connect').value).toBe(0);
  });
});

describe('URLs with a name', () => {
  it('are not resolved at once', () => {
    const { asked, lookup } = resolver(['169.254.169.254']);
    expect(build(lookup).guard.refusalOf('http://meta.test')).toBeUndefined();
    expect(asked).toEqual([]);
  });

  it('are refused as soon as one of the addresses is', async () => {
    const { guard, refusals } = build(resolver(['10.0.0.1', '169.254.169.254']).lookup);
    await expect(guard.check('http://meta.test:80@1')).resolves.toBe(
      'no worker may be at meta.test, which resolves to 169.254.169.254: it is a cloud metadata service (169.254.169.254/32)',
    );
    expect(refusals('registration').value).toBe(1);
  });

  it('pass when all addresses do, or when there is none yet', async () => {
    await expect(
      build(resolver(['10.0.0.1', '::1']).lookup).guard.check('http://a.test'),
    ).resolves.toBeUndefined();
    await expect(build(resolver([]).lookup).guard.check('http://a.test')).resolves.toBeUndefined();
  });

  it('are asked for as the resolver knows them', async () => {
    const { asked, lookup } = resolver(['127.0.0.1']);
    const { guard } = build(lookup);
    await guard.check('http://LOCALHOST.:80');
    await guard.check('http://Engine.TEST.@1');
    expect(asked).toEqual(['localhost', 'engine.test.']);
  });

  it('localhost resolves without a resolver of our own', async () => {
    const { guard } = build(undefined, { denyCidrs: ['127.0.0.0/8', '::1'] });
    await expect(guard.check('http://LOCALHOST.:1')).resolves.toContain('no worker may be at');
  });
});

describe('connects', () => {
  it('judge every candidate, and try only those that pass', async () => {
    const { connect, refusals } = build(
      resolver(['169.254.169.254', '10.0.0.1', 'fe80::1', '::1']).lookup,
    );
    await expect(connect('a.test')).resolves.toEqual([entry('10.0.0.1'), entry('::1')]);
    expect(refusals('connect').value).toBe(2);
  });

  it('give one address to who asks for one, and never a refused one', async () => {
    const { connect } = build(resolver(['169.254.169.254', '10.0.0.1']).lookup);
    await expect(connect('a.test', {})).resolves.toEqual(['10.0.0.1', 4]);
  });

  it('fail with a code of their own when nothing is left', async () => {
    const { connect } = build(resolver(['10.0.0.1'], ['169.254.169.254']).lookup);
    await expect(connect('a.test')).resolves.toEqual([entry('10.0.0.1')]);
    await expect(connect('a.test')).resolves.toMatchObject({
      code: 'ERR_WORKER_ADDRESS_REFUSED',
      message:
        'not connected to a.test at 169.254.169.254: it is a cloud metadata service (169.254.169.254/32)',
    });
  });

  it('hand on what the resolver says', async () => {
    await expect(build(resolver([]).lookup).connect('a.test')).resolves.toMatchObject({
      code: 'ENOTFOUND',
    });
  });

  it('judge a host that is an address, since no name is looked up then', () => {
    const { guard, refusals } = build();
    expect(guard.connectRefusal('169.254.169.254')?.code).toBe('ERR_WORKER_ADDRESS_REFUSED');
    expect(guard.connectRefusal('fe80::1%eth0')).toBeDefined();
    expect(guard.connectRefusal('127.0.0.1')).toBeUndefined();
    expect(guard.connectRefusal('a.test')).toBeUndefined();
    expect(refusals('connect').value).toBe(2);
  });
});
