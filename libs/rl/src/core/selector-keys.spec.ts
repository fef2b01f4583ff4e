import { fakeWorker } from '@smg/testing';
import { selectorKeys } from './selector-keys';
import { VersionTable } from './version-table';
import { parseVersion } from './weight-version';

const worker = fakeWorker({
  url: 'http://a:1@2',
  modelId: 'm',
  labels: {
    engine: 'spoofed',
    id: 'spoofed',
    control: 'spoofed',
    role: 'policy',
    weight_version: 'default',
  },
});

describe('selectorKeys', () => {
  it('derived keys shadow labels; other labels are visible', () => {
    const key = selectorKeys(worker, undefined);
    expect(key('engine')).toBe('sglang');
    expect(key('id')).toBe(worker.id);
    expect(key('url')).toBe('http://a:1@2');
    expect(key('base_url')).toBe('http://a:1');
    expect(key('model')).toBe('m');
    expect(key('worker_type')).toBe('regular');
    expect(key('connection_mode')).toBe('http');
    expect(key('health')).toBe('ready');
    expect(key('control')).toBe('active');
    expect(key('role')).toBe('policy');
    expect(key('model_id')).toBeUndefined();
    expect(key('toString')).toBeUndefined();
  });

  it('control and version are those of the table', () => {
    const table = new VersionTable();
    table.seed('http://a:1', 'm', undefined);
    const key = selectorKeys(worker, table.get('http://a:1'));
    expect(key('weight_version')).toBe('default');
    table.setVersion('http://a:1', 'm', parseVersion('9'), 'api');
    table.pause('http://a:1');
    expect([key('weight_version'), key('control')]).toEqual(['9', 'paused']);
  });
});
