import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readRegularFile } from './read-regular-file';

describe('readRegularFile', () => {
  const folder = mkdtempSync(join(tmpdir(), 'smg-regular-'));

  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  it('reads text', () => {
    const path = join(folder, 'a');
    writeFileSync(path, 'grüße\n');
    expect(readRegularFile(path)).toBe('grüße\n');
  });

  it('refuses a named pipe at once', () => {
    const path = join(folder, 'pipe');
    execFileSync('mkfifo', [path]);
    expect(() => readRegularFile(path)).toThrow('not a regular file');
  });

  it('refuses a folder, a device and a file that is too large', () => {
    expect(() => readRegularFile(folder)).toThrow('not a regular file');
    expect(() => readRegularFile('/dev/zero')).toThrow('not a regular file');
    const path = join(folder, 'large');
    writeFileSync(path, Buffer.alloc(4 * 1024 * 1024 + 1));
    expect(() => readRegularFile(path)).toThrow('larger than');
  });

  it('gives the code of what is missing', () => {
    expect(() => readRegularFile(join(folder, 'none'))).toThrow(
      expect.objectContaining({ code: 'ENOENT' }),
    );
  });
});
