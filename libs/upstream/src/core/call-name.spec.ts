import { callName } from './call-name';

describe('callName', () => {
  it.each([
    ['/pause_generation', 'POST /pause_generation'],
    ['/update?token=canary', 'POST /update'],
    ['/update?', 'POST /update'],
  ])('of %s is %s', (path, name) => {
    expect(callName({ method: 'POST', path })).toBe(name);
  });
});
