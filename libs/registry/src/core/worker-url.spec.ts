import fc from 'fast-check';
import { parseWorkerUrl, type WorkerAddress } from './worker-url';

function address(url: string, rank?: number): WorkerAddress {
  const parsed = parseWorkerUrl(url, rank);
  if (!parsed.ok) throw new Error(parsed.message);
  return parsed.address;
}

describe('parseWorkerUrl', () => {
  it.each([
    // as registered, canonical URL, where requests go
    ['http://10.0.0.1:8000', 'http://10.0.0.1:8000', 'http://10.0.0.1:8000'],
    ['http://h', 'http://h', 'http://h'],
    ['https://h:443', 'https://h:443', 'https://h:443'],
    ['http://h:8000/', 'http://h:8000', 'http://h:8000'],
    ['http://HOST.Example:8000', 'http://host.example:8000', 'http://host.example:8000'],
    ['http://h.:8000', 'http://h.:8000', 'http://h.:8000'],
    ['http://h:8000@1', 'http://h:8000@1', 'http://h:8000'],
    ['http://h:8000@1/', 'http://h:8000@1', 'http://h:8000'],
    ['http://h@0', 'http://h@0', 'http://h'],
    ['http://[::1]:8000', 'http://[::1]:8000', 'http://[::1]:8000'],
    ['http://[::1]:8000@2', 'http://[::1]:8000@2', 'http://[::1]:8000'],
    ['http://[0:0:0:0:0:0:0:1]:8000', 'http://[::1]:8000', 'http://[::1]:8000'],
    ['http://[fd00::1%25eth0]:80', 'http://[fd00::1%25eth0]:80', 'http://[fd00::1%25eth0]:80'],
    ['http://[FD00::1%eth0]:81', 'http://[fd00::1%25eth0]:81', 'http://[fd00::1%25eth0]:81'],
    ['http://h:1/engines/a', 'http://h:1/engines/a', 'http://h:1/engines/a'],
    ['http://h:1/engines/a/', 'http://h:1/engines/a', 'http://h:1/engines/a'],
    ['http://h:1/engines/a@3', 'http://h:1/engines/a@3', 'http://h:1/engines/a'],
    ['grpc://h:1', 'grpc://h:1', 'grpc://h:1'],
    ['ipc:///tmp/engine-1', 'ipc:///tmp/engine-1', 'ipc:///tmp/engine-1'],
  ])('reads %s', (given, url, baseUrl) => {
    expect(address(given)).toMatchObject({ url, baseUrl });
  });

  it.each([
    ['http://h', 'http://h:80'],
    ['https://h', 'https://h:443'],
    ['http://h:8000', 'http://H:8000/'],
    ['http://h:8000', 'http://h.:8000'],
    ['http://[::1]:8000', 'http://[0::1]:8000'],
    ['http://127.0.0.1:1', 'http://127.1:1'],
    ['http://h:8000@1', 'http://h:08000@01'],
  ])('knows %s and %s for one worker', (one, other) => {
    expect(address(one).key).toBe(address(other).key);
  });

  it.each([
    ['http://h/ab', 'http://h/a'],
    ['http://h:80', 'https://h:80'],
    ['http://h:1', 'http://h:1@0'],
    ['http://h:1@0', 'http://h:1@1'],
  ])('tells %s from %s', (one, other) => {
    expect(address(one).key).not.toBe(address(other).key);
  });

  it.each([
    'h:8000',
    'HTTP://h:8000',
    'ftp://x',
    'http://',
    'http:///path',
    'http://:8000',
    'http://.',
    'http://h:0',
    'http://h:65536',
    'http://h:',
    'http://h:80a',
    'http://h o:80',
    'http://[::1',
    'http://[::g]:80',
    'http://::1:8000',
    'http://h:1/a?x=1',
    'http://h:1/#f',
    'http://h:1?x=1',
    'http://h:1/../admin',
    'http://h:1/%2e%2e/admin',
    'http://h:1//a',
    'http://h:1/a b',
    'http://h:1\r\nx: y',
    'ipc://',
    '',
    `http://${'a'.repeat(3000)}`,
  ])('refuses %j', (given) => {
    expect(parseWorkerUrl(given).ok).toBe(false);
  });

  it.each([
    'http://me:s3cret@h:8000',
    'http://s3cret@h',
    'http://me:s3cret@h:8000@1',
    'http://me:s3cret@7',
  ])('never repeats a password: %s', (given) => {
    const parsed = parseWorkerUrl(given);
    expect(parsed.ok).toBe(false);
    expect(JSON.stringify(parsed)).not.toContain('s3cret');
  });

  it('takes the rank of a specification whose URL has none', () => {
    expect(address('http://h:1', 2)).toMatchObject({ url: 'http://h:1@2', rank: 2 });
    expect(parseWorkerUrl('http://h:1@1', 2).ok).toBe(false);
  });

  it('gives the bare host for bootstrap', () => {
    expect(address('http://[fd00::1%25eth0]:80@1').host).toBe('fd00::1%eth0');
    expect(address('http://Prefill1:80').host).toBe('prefill1');
  });

  it('is idempotent, and never throws', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.webUrl(),
          fc.string(),
          fc.string().map((s) => `http://${s}`),
        ),
        (text) => {
          const parsed = parseWorkerUrl(text);
          if (!parsed.ok) return;
          expect(address(parsed.address.url)).toEqual(parsed.address);
        },
      ),
    );
  });
});
