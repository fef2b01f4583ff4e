import { forwardQuery, selectorParameter } from './forward-query';

describe('forwardQuery', () => {
  it.each([
    ['', ''],
    ['selector=x', ''],
    ['selector', ''],
    ['mode=keep&selector=x&level=2', 'mode=keep&level=2'],
    ['tags=weights&tags=kv_cache', 'tags=weights&tags=kv_cache'],
    ['selectorx=1&xselector=2', 'selectorx=1&xselector=2'],
    ['flag&&a=b&', 'flag&a=b'],
    ['a=%20+%zz&b==c', 'a=%20+%zz&b==c'],
    ['selector=a&selector=b&c=d', 'c=d'],
    // The raw key is compared, as the contract says.
    ['Selector=x&%73elector=x', 'Selector=x&%73elector=x'],
  ])('%j goes on as %j', (raw, forwarded) => {
    expect(forwardQuery(raw)).toBe(forwarded);
  });
});

describe('selectorParameter', () => {
  it.each([
    ['', { kind: 'absent' }],
    ['a=b', { kind: 'absent' }],
    ['selector=', { kind: 'text', text: '' }],
    ['selector', { kind: 'text', text: '' }],
    ['selector=engine%3Dsglang+', { kind: 'text', text: 'engine=sglang ' }],
    ['a=1&selector=a=b=c', { kind: 'text', text: 'a=b=c' }],
    ['selector=a%2Bb', { kind: 'text', text: 'a+b' }],
    ['%73elector=x', { kind: 'text', text: 'x' }],
    ['selector=a&selector=a', { kind: 'repeated' }],
    ['selector=%zz', { kind: 'undecodable' }],
    ['selector=%ff', { kind: 'undecodable' }],
  ])('%j', (raw, expected) => {
    expect(selectorParameter(raw)).toEqual(expected);
  });
});
