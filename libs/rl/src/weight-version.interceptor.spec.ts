import {
  describeResponseInterceptor,
  fakeExchange,
  FakeHead,
  FakeMetrics,
  fakeWorker,
} from '@smg/testing';
import { VersionTable } from './core/version-table';
import { parseVersion } from './core/weight-version';
import { RlMetrics } from './rl.metrics';
import { WeightVersionInterceptor } from './weight-version.interceptor';

describeResponseInterceptor(
  'weight-version',
  () => new WeightVersionInterceptor(new VersionTable(), new RlMetrics(new FakeMetrics())),
);

describe('WeightVersionInterceptor', () => {
  const worker = fakeWorker({ url: 'http://a:1@1' });
  const setUp = () => {
    const table = new VersionTable();
    const interceptor = new WeightVersionInterceptor(table, new RlMetrics(new FakeMetrics()));
    const say = (text: string): void => {
      table.setVersion('http://a:1', 'm', parseVersion(text), 'api');
    };
    return { table, interceptor, say };
  };
  const stampsOf = (head: FakeHead): Record<string, string> => head.entries();

  it('stamps nothing without a worker or a version', () => {
    const { interceptor, say } = setUp();
    const head = new FakeHead();
    interceptor.onHead(head, fakeExchange({ routedWorker: worker }));
    say('1');
    interceptor.onHead(head, fakeExchange());
    expect(stampsOf(head)).toEqual({});
  });

  it('names the start only when it was known and is another version now', () => {
    const { interceptor, say } = setUp();
    const first = fakeExchange({ routedWorker: worker });
    interceptor.onDispatch(first);
    say('1');
    const unknownStart = new FakeHead();
    interceptor.onHead(unknownStart, first);
    expect(stampsOf(unknownStart)).toEqual({ 'x-smg-weight-version': '1' });
    const second = fakeExchange({ routedWorker: worker });
    interceptor.onDispatch(second);
    say('01');
    const same = new FakeHead();
    interceptor.onHead(same, second);
    expect(stampsOf(same)).toEqual({ 'x-smg-weight-version': '01' });
    say('2');
    const changed = new FakeHead();
    interceptor.onHead(changed, second);
    interceptor.onHead(changed, second);
    expect(stampsOf(changed)).toEqual({
      'x-smg-weight-version': '2',
      'x-smg-weight-version-start': '1',
    });
  });

  it('asks for the body of a good answer on /generate, or when the version changed', () => {
    const { interceptor, say } = setUp();
    say('1');
    const chat = fakeExchange({ routedWorker: worker, route: '/v1/chat/completions' });
    interceptor.onDispatch(chat);
    expect(interceptor.inspectsBody(new FakeHead(), chat)).toBe(false);
    say('2');
    expect(interceptor.inspectsBody(new FakeHead(), chat)).toBe(true);
    expect(interceptor.inspectsBody(new FakeHead({ status: 400 }), chat)).toBe(false);
    const info = fakeExchange({ routedWorker: worker, endpoint: 'info', route: '/get_model_info' });
    interceptor.onDispatch(info);
    say('3');
    expect(interceptor.inspectsBody(new FakeHead(), info)).toBe(false);
    const generate = fakeExchange({ routedWorker: worker });
    expect(interceptor.inspectsBody(new FakeHead(), generate)).toBe(true);
  });

  it('an engine that left meanwhile leaves no version', () => {
    const { interceptor, say, table } = setUp();
    say('1');
    const exchange = fakeExchange({ routedWorker: worker });
    interceptor.onDispatch(exchange);
    table.remove('http://a:1');
    const head = new FakeHead();
    interceptor.onHead(head, exchange);
    expect(stampsOf(head)).toEqual({});
  });
});
