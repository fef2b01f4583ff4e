import { origin } from './origin';

describe('an origin', () => {
  it.each([
    ['https://app.example.com', 'https://app.example.com'],
    ['https://App.Example.com', 'https://app.example.com'],
    ['HTTPS://app.example.com:443/', 'https://app.example.com'],
    ['http://app.example.com:80', 'http://app.example.com'],
    ['http://localhost:3000', 'http://localhost:3000'],
    ['https://bücher.example', 'https://xn--bcher-kva.example'],
    ['http://[::1]:8080', 'http://[::1]:8080'],
    ['http://[0:0::1]', 'http://[::1]'],
    ['tauri://localhost', 'tauri://localhost'],
    ['chrome-extension://abcdefgh', 'chrome-extension://abcdefgh'],
  ])('%s is kept as %s', (given, kept) => {
    expect(origin.parse(given)).toEqual({ ok: true, value: kept });
  });

  it.each([
    '*',
    'https://*.example.com',
    'null',
    'app.example.com',
    'localhost:3000',
    'https://',
    'https:app.example.com',
    'https:///app',
    'https://app.example.com/path',
    'https://app.example.com/?q',
    'https://app.example.com#f',
    'https://user@app.example.com',
    'https://user:pw@app.example.com',
    'https://a.example https://b.example',
    'https://a.example,https://b.example',
    'https://a.example:99999',
    'file:///index.html',
    'file://host',
    ' https://app.example.com',
    'https://app.example.com\r\nx: y',
    'javascript://x/y',
  ])('%j is refused', (given) => {
    expect(origin.parse(given).ok).toBe(false);
  });
});
