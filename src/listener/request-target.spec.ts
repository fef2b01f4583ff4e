import { originForm } from './request-target';

describe('originForm', () => {
  it.each([
    ['/', '/'],
    ['/workers?x=1', '/workers?x=1'],
    ['/http://a/b', '/http://a/b'],
    ['//a/b', '//a/b'],
    ['http://gateway/workers', '/workers'],
    ['HTTPS://gateway:30000/v1/models?x', '/v1/models?x'],
    ['http://user@gateway/workers', '/workers'],
    ['http://gateway', '/'],
    ['http://gateway?x=1', '/?x=1'],
    ['http://gateway//workers', '//workers'],
    ['*', '*'],
    ['ftp://gateway/workers', 'ftp://gateway/workers'],
    ['gateway:80', 'gateway:80'],
    ['', ''],
  ])('%s is served as %s', (target, path) => {
    expect(originForm(target)).toBe(path);
  });
});
