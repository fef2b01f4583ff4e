import { BodyPipe } from './body.pipe';
import { WorkerPatchDto } from './worker-patch.dto';
import { WorkerSpecDto } from './worker-spec.dto';

describe('a body that breaks a rule', () => {
  it.each([
    [{ url: 5 }, 'url must be a string'],
    [{ url: 'u', health: { timeout_secs: -1 } }, 'health.timeout_secs must not be less than 0'],
    [
      { url: 'u', resilience: { retryable_status_codes: ['a'] } },
      'each value in resilience.retryable_status_codes must be an integer number',
    ],
  ])('%j is refused by the full name of the member', (body, reason) => {
    expect(() => new BodyPipe(WorkerSpecDto).transform(body)).toThrow(reason);
  });
});

describe('a body with names that mean something to JavaScript', () => {
  const text = '{"url":"http://h","labels":{"constructor":"a","__proto__":"b","toString":"c"}}';

  it.each([WorkerSpecDto, WorkerPatchDto])('keeps them as labels (%p)', (shape) => {
    const { labels } = new BodyPipe<{ labels: object }>(shape).transform(JSON.parse(text));
    expect(Object.entries(labels)).toEqual([
      ['constructor', 'a'],
      ['__proto__', 'b'],
      ['toString', 'c'],
    ]);
  });

  it('refuses them deep inside with a reason, not with a fault of ours', () => {
    const body = { url: 'http://h', models: [{ id: 'm', metadata: { constructor: 1 } }] };
    expect(() => new BodyPipe(WorkerSpecDto).transform(body)).toThrow(
      expect.objectContaining({ status: 422, message: expect.stringContaining('`constructor`') }),
    );
  });

  it('drops them where no such member exists', () => {
    const body = JSON.parse('{"url":"http://h","constructor":1,"__proto__":{"priority":9}}');
    expect(new BodyPipe(WorkerSpecDto).transform(body)).toEqual({ url: 'http://h' });
  });
});

describe('a body larger than any worker definition', () => {
  const named = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'v']));
  const nested = (depth: number): unknown => {
    let value: unknown = 1;
    for (let i = 0; i < depth; i += 1) value = [value];
    return value;
  };

  it.each<[string, object, string]>([
    ['labels', { labels: named(200_000) }, 'more than 25000 members'],
    ['unknown members', named(300_000), 'more than 25000 members'],
    ['metadata', { models: [{ id: 'm', metadata: named(200_000) }] }, 'more than 25000 members'],
    ['models', { models: Array(100_000).fill({ id: 'm' }) }, 'more than 50000 values'],
    ['depth', { models: [{ id: 'm', metadata: nested(100_000) }] }, 'nested deeper than 64'],
  ])('is refused at once: %s', (_what, members, reason) => {
    const startedAt = performance.now();
    expect(() => new BodyPipe(WorkerSpecDto).transform({ url: 'http://h', ...members })).toThrow(
      expect.objectContaining({ status: 422, message: expect.stringContaining(reason) }),
    );
    // Read by its shape, each would take seconds to minutes.
    expect(performance.now() - startedAt).toBeLessThan(1000);
  });

  it('leaves room for the class names of a large model', () => {
    const models = [{ id: 'm', id2label: named(21_000) }];
    expect(new BodyPipe(WorkerSpecDto).transform({ url: 'http://h', models })).toEqual({
      url: 'http://h',
      models,
    });
  });
});
