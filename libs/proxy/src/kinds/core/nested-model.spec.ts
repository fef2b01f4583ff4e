import { modelInQuery, withModel } from '../realtime/model-query';
import { setModelInside } from './nested-model';

describe('setModelInside', () => {
  it.each([
    ['{"session":{"model":"a"}}', '{"session":{"model":"b"}}'],
    [
      '{"model":"a","n":9007199254740993,"session": { "x":{"model":"a"} , "model" : "a"}}',
      '{"model":"a","n":9007199254740993,"session": { "x":{"model":"a"} , "model" : "b"}}',
    ],
    [
      '{"session":{"model":"z"},"session":{"model":"a"}}',
      '{"session":{"model":"b"},"session":{"model":"b"}}',
    ],
    ['{"session":7,"session":{"model":"a"}}', '{"session":7,"session":{"model":"b"}}'],
  ])('%s', (before, after) => {
    expect(setModelInside(Buffer.from(before), 'session', 'b').toString()).toBe(after);
  });
});

describe('the model in a query', () => {
  it.each([
    ['?model=a', 'a'],
    ['?x=1&model=a%2Fb+c', 'a/b c'],
    ['?%6dodel=a', 'a'],
  ])('%s names %s', (query, model) => {
    expect(modelInQuery(query)).toEqual({ ok: true, model });
  });

  it.each(['', '?', '?model=', '?x=1', '?model=a&model=b', '?model=a&%6dodel=b'])(
    '%j names none',
    (query) => {
      expect(modelInQuery(query).ok).toBe(false);
    },
  );

  it('is changed, and nothing else', () => {
    expect(withModel('?a=%20&%6dodel=x&b', 'm/1 &')).toBe('?a=%20&model=m%2F1%20%26&b');
  });
});
