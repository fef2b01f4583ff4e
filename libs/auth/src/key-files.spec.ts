import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AuthOptions } from './core/auth-options';
import { buildKeySet } from './core/key-set';
import { readKeyMaterial, readSharedKeyFile } from './key-files';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'smg-keys-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

function file(name: string, content: string, mode = 0o600): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
}

async function load(options: AuthOptions, warnings: string[] = []) {
  const material = await readKeyMaterial(options, (message) => warnings.push(message));
  return buildKeySet(material, options.jwt !== undefined);
}

async function refusalOf(options: AuthOptions): Promise<string> {
  const error: unknown = await load(options).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof Error)) throw new Error('expected a refusal');
  return error.message;
}

describe('key files', () => {
  it('add up with the options', async () => {
    const keys = await load({
      apiKeyFile: file('shared', '# the key\nshared-key\n'),
      tenantApiKeys: [{ tenantId: 'a', key: 'ka' }],
      tenantApiKeysFile: file('tenants', 'b:kb\n\nc:k:c\n'),
      controlPlaneApiKeys: [{ id: 'x', name: '', role: 'user', key: 'kx' }],
      controlPlaneApiKeysFile: file('control', 'y:Y:admin:ky\n'),
    });
    for (const [key, tenant] of [
      ['ka', 'auth:a'],
      ['kb', 'auth:b'],
      ['k:c', 'auth:c'],
    ]) {
      expect(keys.serving.find(key ?? '')?.decision).toMatchObject({ tenant });
    }
    expect(keys.serving.find('shared-key')?.kind).toBe('shared');
    expect(keys.control.find('kx')).toMatchObject({ id: 'x', role: 'user' });
    expect(keys.control.find('ky')).toMatchObject({ id: 'y', role: 'admin' });
    expect(keys).toMatchObject({ hasShared: true, hasAdminKey: true });
  });

  it('a named pipe is refused, and not waited for', async () => {
    const path = join(folder, 'pipe');
    execFileSync('mkfifo', [path]);
    await expect(refusalOf({ apiKeyFile: path })).resolves.toMatch(/it is not a regular file/);
  });

  it('a world-readable file gets a warning, another none', async () => {
    const warnings: string[] = [];
    await load({ tenantApiKeysFile: file('open', 'a:canary', 0o644) }, warnings);
    expect(warnings).toEqual([expect.stringMatching(/--tenant-api-keys-file.*open.*chmod o-r/)]);
    warnings.length = 0;
    await load({ tenantApiKeysFile: file('shut', 'a:canary', 0o640) }, warnings);
    expect(warnings).toEqual([]);
  });

  it.each<[string, (path: typeof file) => AuthOptions, RegExp]>([
    ['a missing file', () => ({ apiKeyFile: '/nowhere/keys' }), /--api-key-file: .*: ENOENT$/],
    ['an empty file', (f) => ({ tenantApiKeysFile: f('t', '# none\n') }), /t has no entry$/],
    ['an empty key file', (f) => ({ apiKeyFile: f('s', '\n') }), /s has no entry$/],
    ['two shared keys', (f) => ({ apiKeyFile: f('s', 'canary1\ncanary2') }), /line 2: .*one key/],
    ['a bad line', (f) => ({ tenantApiKeysFile: f('t', 'a:b\n\ncanary') }), /t line 3: no ':'/],
    [
      'a bad control line',
      (f) => ({ controlPlaneApiKeysFile: f('c', 'canary:canary:boss:canary') }),
      /c line 1: the role/,
    ],
    [
      'an owner of both option and file',
      (f) => ({
        tenantApiKeys: [{ tenantId: 'canary', key: 'x' }],
        tenantApiKeysFile: f('t', 'canary:y'),
      }),
      /t line 1: this line is given twice/,
    ],
    [
      'a key of both option and file',
      (f) => ({ apiKey: 'canary', tenantApiKeysFile: f('t', 'ok:k\nb:canary') }),
      /t line 2: the key of this line is already in use/,
    ],
    [
      'a control-plane key that opens the serving plane too',
      (f) => ({ apiKey: 'canary', controlPlaneApiKeysFile: f('c', 'a::admin:canary') }),
      /c line 1: the key of this line is already in use/,
    ],
    [
      'the shared key twice',
      (f) => ({ apiKey: 'x', apiKeyFile: f('s', 'canary') }),
      /s line 1: .*by --api-key as well/,
    ],
  ])('%s stops the start, and no content is repeated', async (_name, options, message) => {
    const refusal = await refusalOf(options(file));
    expect(refusal).toMatch(message);
    expect(refusal).not.toMatch(/canary/);
  });

  it('a folder and a huge file are refused', async () => {
    mkdirSync(join(folder, 'dir'));
    expect(await refusalOf({ apiKeyFile: join(folder, 'dir') })).toMatch(/not a regular file/);
    const huge = file('huge', 'a'.repeat(1024 * 1024 + 1));
    expect(await refusalOf({ apiKeyFile: huge })).toMatch(/larger than/);
  });

  it('the shared key can be had for the workers', async () => {
    expect(await readSharedKeyFile(file('s', '#\r\nkey\r\n'))).toBe('key');
    await expect(readSharedKeyFile('/nowhere')).rejects.toThrow(/ENOENT/);
  });
});
