import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MockEngine } from '@smg/testing';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';

let folder: string;
let engine: MockEngine;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'smg-auth-'));
  engine = await new MockEngine().start();
});
afterAll(async () => {
  await engine.stop();
  rmSync(folder, { recursive: true });
});

function file(name: string, content: string, mode = 0o600): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
}

const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });

const statuses = async (
  gateway: RunningGateway,
  path: string,
  ...keys: string[]
): Promise<number[]> => {
  const found: number[] = [];
  for (const key of keys) {
    const body = path === '/generate' ? { text: 'x' } : undefined;
    found.push((await send(gateway.url + path, { headers: bearer(key), body })).status);
  }
  return found;
};

describe('keys in files', () => {
  it('open what the options would, are read again on SIGHUP, and the workers keep theirs', async () => {
    const auth = {
      apiKeyFile: file('shared', '# shared\nshared-1\n'),
      tenantApiKeysFile: file('tenants', 'a:ta\nb:tb\n', 0o644),
      controlPlaneApiKeysFile: file('control', 'ops:Ops:admin:c1\neyes:Eyes:user:c2\n'),
    };
    const gateway = await startGateway({ auth }, { engines: [engine] });
    try {
      expect(await statuses(gateway, '/generate', 'shared-1', 'ta', 'tb', 'c1', 'x')).toEqual([
        ...[200, 200, 200, 401, 401],
      ]);
      expect(await statuses(gateway, '/workers', 'c1', 'c2', 'shared-1', 'ta')).toEqual([
        ...[200, 403, 401, 401],
      ]);
      // The engine was registered with the key of the file.
      expect(engine.requestsTo('/generate').at(-1)?.values('authorization')).toEqual([
        'Bearer shared-1',
      ]);
      const logs = gateway.rawLogs.join('');
      expect(logs).toMatch(/--tenant-api-keys-file: everyone on this machine can read .*tenants/);
      expect(logs).not.toMatch(/--api-key-file: everyone/);

      file('shared', 'shared-2');
      file('tenants', 'a:ta2\r\n');
      file('control', 'ops:Ops:admin:c3\n');
      expect(await statuses(gateway, '/generate', 'shared-1', 'shared-2')).toEqual([200, 401]);
      await gateway.gateway.reload();
      expect(
        await statuses(gateway, '/generate', 'shared-1', 'shared-2', 'ta', 'ta2', 'tb'),
      ).toEqual([401, 200, 401, 200, 401]);
      expect(await statuses(gateway, '/workers', 'c1', 'c2', 'c3')).toEqual([401, 401, 200]);
      expect(engine.requestsTo('/generate').at(-1)?.values('authorization')).toEqual([
        'Bearer shared-1',
      ]);
    } finally {
      await gateway.close();
    }
  });

  it('a set that is bad in one place is not taken at all', async () => {
    const auth = {
      apiKeyFile: file('shared', 'shared-1'),
      tenantApiKeysFile: file('tenants', 'a:ta'),
    };
    const gateway = await startGateway({ auth }, { engines: [engine] });
    try {
      file('shared', 'shared-2');
      for (const bad of ['a:ta2\ncanary', '', '# none', 'a:x1\na:x2', 'a:shared-2']) {
        file('tenants', bad);
        await gateway.gateway.reload();
        expect(
          await statuses(gateway, '/generate', 'shared-1', 'ta', 'shared-2', 'ta2', 'x1'),
        ).toEqual([200, 200, 401, 401, 401]);
      }
      rmSync(auth.tenantApiKeysFile);
      await gateway.gateway.reload();
      expect(await statuses(gateway, '/generate', 'shared-1', 'ta')).toEqual([200, 200]);
      const kept = gateway.logs
        .map(({ msg }) => String(msg))
        .filter((msg) => msg.includes('kept as it'));
      expect(kept).toHaveLength(6);
      expect(kept[0]).toMatch(/^keys: kept as it was: .*tenants line 2: no ':'/);
      expect(kept[5]).toMatch(/ENOENT$/);
      expect(gateway.rawLogs.join('')).not.toMatch(/canary/);
      file('tenants', 'a:ta2');
      await gateway.gateway.reload();
      expect(await statuses(gateway, '/generate', 'shared-2', 'ta2', 'ta')).toEqual([
        200, 200, 401,
      ]);
    } finally {
      await gateway.close();
    }
  });

  it.each<[string, () => object, RegExp]>([
    ['a missing file', () => ({ apiKeyFile: '/nowhere/key' }), /--api-key-file.*ENOENT/],
    ['an empty file', () => ({ controlPlaneApiKeysFile: file('c', '\n') }), /c has no entry/],
    [
      'a bad line',
      () => ({ controlPlaneApiKeysFile: file('c', 'a:b:admin:k\ncanary:admin') }),
      /c line 2/,
    ],
    [
      'a key of a file and an option',
      () => ({ apiKey: 'canary', tenantApiKeysFile: file('t', 'a:canary') }),
      /t line 1: .*already in use/,
    ],
  ])('%s stops the start', async (_name, auth, message) => {
    const error: unknown = await startGateway({ auth: auth() }).catch((thrown: unknown) => thrown);
    expect(String(error)).toMatch(message);
    expect(String(error)).not.toMatch(/canary/);
  });
});
