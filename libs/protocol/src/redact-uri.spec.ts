import { redactUri } from './redact-uri';

describe('redactUri', () => {
  it.each([
    ['/v1/models', '/v1/models'],
    ['/a?x=1&y=2', '/a?x=1&y=2'],
    ['/a?api_key=canary&x=1', '/a?api_key=***&x=1'],
    ['/a?x=1&access_token=canary', '/a?x=1&access_token=***'],
    ['/a?API%5FKEY=canary', '/a?API%5FKEY=***'],
    ['/a?%61pi_%6bey=canary=2', '/a?%61pi_%6bey=***'],
    ['/a?key', '/a?key'],
    ['/a?%zz=1', '/a?%zz=1'],
    ['/workers/http%3A%2F%2Fu%3Acanary%40h%3A1', '/workers/http%3A%2F%2F***%40h%3A1'],
    ['/workers/http:%2f%2fcanary@h:1@2', '/workers/http:%2f%2f***@h:1@2'],
    ['/a?url=http://u:p@canary@h', '/a?url=http://***@h'],
    ['/workers/http%3A%2F%2Fh%3A1%402', '/workers/http%3A%2F%2Fh%3A1%402'],
    ['/a@b', '/a@b'],
    ['/a#token=canary', '/a#token=***'],
    ['/a?x=1#token=canary&y=2', '/a?x=1#token=***&y=2'],
    ['/a?token=ca?nary#ca&x=#', '/a?token=***&x=#'],
  ])('%s becomes %s', (uri, redacted) => {
    expect(redactUri(uri)).toBe(redacted);
  });
});
