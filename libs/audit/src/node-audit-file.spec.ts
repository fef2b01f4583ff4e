import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openAuditFile } from './node-audit-file';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'smg-audit-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe('openAuditFile', () => {
  it('creates a file only its owner can read, and appends to it', async () => {
    const path = join(folder, 'audit.log');
    const file = await openAuditFile(path);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(file.isTorn).toBe(false);
    expect(await file.append(Buffer.from('ab\n'))).toBe(3);
    await file.sync();
    await file.close();
    expect(readFileSync(path, 'utf8')).toBe('ab\n');
  });

  it('appends even when somebody cuts the file', async () => {
    const path = join(folder, 'audit.log');
    const file = await openAuditFile(path);
    await file.append(Buffer.from('before\n'));
    writeFileSync(path, '');
    await file.append(Buffer.from('after\n'));
    await file.close();
    expect(readFileSync(path, 'utf8')).toBe('after\n');
  });

  it.each([
    ['', false],
    ['whole\n', false],
    ['whole\ntor', true],
  ])('of a file with %j: torn is %s, and what it holds stays', async (content, isTorn) => {
    const path = join(folder, 'audit.log');
    writeFileSync(path, content);
    const file = await openAuditFile(path);
    expect(file.isTorn).toBe(isTorn);
    await file.close();
    expect(readFileSync(path, 'utf8')).toBe(content);
  });

  it('follows a link', async () => {
    symlinkSync(join(folder, 'real.log'), join(folder, 'link.log'));
    const file = await openAuditFile(join(folder, 'link.log'));
    await file.append(Buffer.from('a\n'));
    await file.close();
    expect(readFileSync(join(folder, 'real.log'), 'utf8')).toBe('a\n');
  });

  it('refuses what it cannot append to, and names it', async () => {
    await expect(openAuditFile(folder)).rejects.toThrow(`--audit-log-file "${folder}": EISDIR`);
    await expect(openAuditFile(join(folder, 'no', 'audit.log'))).rejects.toThrow('ENOENT');
    await expect(openAuditFile('/dev/null')).rejects.toThrow('it is not a regular file');
  });
});
