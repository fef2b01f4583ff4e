import { hostOf, resolvable, splitZone } from './url-host';

describe('hostOf', () => {
  it.each([
    ['http://127.0.0.1:8000', '127.0.0.1'],
    ['http://0x7f.1:8000', '127.0.0.1'],
    ['http://127.1', '127.0.0.1'],
    ['http://2130706433:8000', '127.0.0.1'],
    ['http://017700000001', '127.0.0.1'],
    ['http://0X7F000001/engines/a', '127.0.0.1'],
    ['http://127.0.0.1.:8000', '127.0.0.1'],
    ['http://2852039166', '169.254.169.254'],
    ['http://0xa9.0xfe.0xa9.0xfe', '169.254.169.254'],
    ['http://169.254.169.254@1', '169.254.169.254'],
    ['http://[::1]:8000', '::1'],
    ['http://[::1]:8000@2', '::1'],
    ['http://[0:0:0:0:0:0:0:1]@2/', '::1'],
    ['http://[::FFFF:169.254.169.254]', '::ffff:a9fe:a9fe'],
    ['https://[fd00::1%25eth0]:443@3', 'fd00::1%eth0'],
    ['https://[FD00::1%eth0]', 'fd00::1%eth0'],
    ['http://１６９.254.169.254', '169.254.169.254'],
  ])('%s leads to the address %s', (url, host) => {
    expect(hostOf(url)).toEqual({ host, isAddress: true });
  });

  it.each([
    ['http://engine.test:8000', 'engine.test'],
    ['http://ENGINE.Test.:80@1', 'engine.test.'],
    ['http://localhost:1', 'localhost'],
    ['http://LOCALHOST.:1', 'localhost'],
    ['http://a.LocalHost.', 'a.localhost'],
    ['http://user@engine.test', 'engine.test'],
  ])('%s leads to the name %s', (url, host) => {
    expect(hostOf(url)).toEqual({ host, isAddress: false });
  });

  it.each(['', 'nothing', 'http://', 'http://[::1', 'http://1.2.3.4.5', 'http://[::1%]/'])(
    '%j leads nowhere',
    (url) => {
      expect(hostOf(url)).toBeUndefined();
    },
  );
});

it('keeps rooted names rooted, localhost aside', () => {
  expect(resolvable('engine.test.')).toBe('engine.test.');
  expect(resolvable('notlocalhost.')).toBe('notlocalhost.');
  expect(resolvable('Localhost.')).toBe('Localhost');
});

it('splits the zone off a URL', () => {
  expect(splitZone('http://[fd00::1%25eth0]:80/a')).toEqual({
    text: 'http://[fd00::1]:80/a',
    zone: '%eth0',
  });
  expect(splitZone('http://h/%25x]')).toEqual({ text: 'http://h/%25x]', zone: '' });
});
