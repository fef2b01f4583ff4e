import { fakeWorker } from '@smg/testing';
import { collapseRanks, engineRow, ranksOf, workersAnswer } from './discovery-row';
import { VersionTable } from './version-table';
import { parseVersion } from './weight-version';

const worker = (url: string, labels: Record<string, string> = {}) => fakeWorker({ url, labels });
const sources = (table = new VersionTable()) => ({ table, capabilities: () => undefined });
const shown = (groups: ReturnType<typeof collapseRanks>) =>
  groups.map((group) => `${group.worker.url} x${group.ranks}`);

describe('collapseRanks', () => {
  it('ranks become one row under the lowest, sorted by address', () => {
    const workers = ['http://b:1@1', 'http://b:1@0', 'http://b:1@2', 'http://a:1'].map((url) =>
      worker(url),
    );
    expect(shown(collapseRanks(workers))).toEqual(['http://a:1 x1', 'http://b:1@0 x3']);
  });

  it('ranks are compared as numbers', () => {
    const workers = ['http://b:1@10', 'http://b:1@9'].map((url) => worker(url));
    expect(shown(collapseRanks(workers))).toEqual(['http://b:1@9 x2']);
  });

  it('a worker without a rank at the same address is its own row', () => {
    const workers = ['http://b:1@0', 'http://b:1@1', 'http://b:1'].map((url) => worker(url));
    expect(shown(collapseRanks(workers))).toEqual(['http://b:1 x1', 'http://b:1@0 x2']);
    expect(workers.map((one) => ranksOf(one, workers))).toEqual([2, 2, 1]);
  });
});

describe('engineRow', () => {
  it('says null where nothing is known', () => {
    expect(engineRow(worker('http://a:1'), 1, sources())).toMatchObject({
      base_url: 'http://a:1',
      engine: 'sglang',
      engine_version: null,
      tp_size: null,
      dp_size: null,
      pp_size: null,
      dp_ranks: 1,
      role: null,
      health: 'ready',
      weight_version: null,
      version_source: null,
      control: 'active',
      labels: {},
      capabilities: { source: 'static', abort: false },
    });
  });

  it('has every member of the contract, and no other', () => {
    expect(Object.keys(engineRow(worker('http://a:1'), 1, sources()))).toEqual([
      'id',
      'url',
      'base_url',
      'engine',
      'engine_version',
      'model_id',
      'worker_type',
      'connection_mode',
      'tp_size',
      'dp_size',
      'pp_size',
      'dp_ranks',
      'role',
      'health',
      'weight_version',
      'version_source',
      'control',
      'labels',
      'capabilities',
    ]);
  });

  it.each([
    ['4', 4],
    [' 4 ', 4],
    ['0', 0],
    ['x', null],
    ['-1', null],
    ['1.5', null],
    ['', null],
  ])('tp_size %j is %s', (label, size) => {
    expect(engineRow(worker('http://a:1', { tp_size: label }), 1, sources()).tp_size).toBe(size);
  });

  it('the table is believed before the label, which is never written', () => {
    const one = worker('http://a:1@0', { weight_version: '5', version: '0.5.19', role: 'policy' });
    const table = new VersionTable();
    expect(engineRow(one, 2, sources(table))).toMatchObject({
      weight_version: '5',
      version_source: null,
    });
    table.setVersion('http://a:1', 'm', parseVersion('9'), 'api');
    table.setControl('http://a:1', 'm', 'paused');
    expect(engineRow(one, 2, sources(table))).toMatchObject({
      url: 'http://a:1@0',
      base_url: 'http://a:1',
      dp_ranks: 2,
      engine_version: '0.5.19',
      role: 'policy',
      weight_version: '9',
      version_source: 'api',
      control: 'paused',
      labels: { weight_version: '5' },
    });
  });

  it('an engine known to have no version shows none, whatever its label', () => {
    const table = new VersionTable();
    table.seed('http://a:1', 'm', undefined);
    const row = engineRow(worker('http://a:1', { weight_version: 'default' }), 1, sources(table));
    expect(row).toMatchObject({ weight_version: null, version_source: null });
  });

  it('an engine nobody recognised is unknown', () => {
    const one = fakeWorker({ url: 'http://a:1', runtime: '' });
    expect(engineRow(one, 1, sources()).engine).toBe('unknown');
  });
});

it('an empty fleet is an answer too', () => {
  expect(workersAnswer([], sources())).toEqual({ protocol_version: 1, workers: [], total: 0 });
  expect(workersAnswer(collapseRanks([worker('http://a:1')]), sources()).total).toBe(1);
});
