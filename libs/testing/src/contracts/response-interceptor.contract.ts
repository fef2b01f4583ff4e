import { strict as assert } from 'node:assert';
import { type Exchange, type ResponseInterceptor } from '@smg/plugin-api';
import { fakeExchange, FakeHead } from '../fakes/fake-exchange';
import { fakeWorker } from '../fakes/fake-worker';
import { isThenable, runner } from './runner';

/** Framing belongs to the gateway; an interceptor that touches it breaks the answer. */
const FRAMING = { 'content-length': '12', 'content-type': 'application/json' };

interface Sample {
  readonly title: string;
  readonly head: () => FakeHead;
  readonly exchange: () => Exchange;
}

const routed = { routedWorker: fakeWorker({ url: 'http://w0:8000', modelId: 'mock-model' }) };

const SAMPLES: readonly Sample[] = [
  {
    title: 'a buffered 200',
    head: () => new FakeHead({ headers: FRAMING }),
    exchange: () => fakeExchange(routed),
  },
  {
    title: 'a stream',
    head: () => new FakeHead({ isStream: true, headers: { 'content-type': 'text/event-stream' } }),
    exchange: () => fakeExchange({ ...routed, wantsStream: true, endpoint: 'chat' }),
  },
  {
    title: "an engine's 400",
    head: () => new FakeHead({ status: 400, headers: FRAMING }),
    exchange: () => fakeExchange(routed),
  },
  {
    title: "the gateway's own 502 after dispatch",
    head: () => new FakeHead({ status: 502, headers: FRAMING }),
    exchange: () => fakeExchange({ ...routed, attempt: 3 }),
  },
  {
    title: 'an exchange without a worker',
    head: () => new FakeHead({ status: 503, headers: FRAMING }),
    exchange: () => fakeExchange(),
  },
];

/** Bodies an engine may send, sound and not. */
const BODIES = [
  '',
  '{}',
  '[]',
  'null',
  'not json',
  '{"text":"a","meta_info":{"id":"1"}}',
  '\u00ff',
];

/** Declares a suite that holds an interceptor to the contract of {@link ResponseInterceptor}. */
export function describeResponseInterceptor(name: string, make: () => ResponseInterceptor): void {
  const { describe, it } = runner();
  describe(`${name} keeps the contract of a response interceptor`, () => {
    it('has a name and an order', () => {
      const interceptor = make();
      assert.notEqual(interceptor.name, '');
      assert.ok(Number.isFinite(interceptor.order));
    });

    for (const { title, head: makeHead, exchange: makeExchange } of SAMPLES) {
      it(`${title}: works at once, without touching the framing`, () => {
        const interceptor = make();
        const [head, exchange] = [makeHead(), makeExchange()];
        interceptor.onDispatch(exchange);
        // Typed void, but an `async` override fits that type.
        const onHead = interceptor.onHead.bind(interceptor) as (...both: unknown[]) => unknown;
        assert.ok(!isThenable(onHead(head, exchange)), 'onHead is async');
        for (const [header, value] of Object.entries(makeHead().entries())) {
          assert.equal(head.get(header), value, `${header} was changed`);
        }
        assert.equal(head.get('transfer-encoding'), undefined);
      });

      it(`${title}: stamping twice stamps the same`, () => {
        const interceptor = make();
        const [head, exchange] = [makeHead(), makeExchange()];
        interceptor.onDispatch(exchange);
        interceptor.onHead(head, exchange);
        const once = head.entries();
        interceptor.onHead(head, exchange);
        assert.deepEqual(head.entries(), once);
      });

      it(`${title}: looks at any body without changing it`, () => {
        const interceptor = make();
        const [head, exchange] = [makeHead(), makeExchange()];
        interceptor.onDispatch(exchange);
        interceptor.onHead(head, exchange);
        if (head.isStream || !interceptor.inspectsBody(head, exchange)) return;
        for (const text of BODIES) {
          const body = Buffer.from(text, 'latin1');
          interceptor.onBody(head, body, exchange);
          assert.equal(body.toString('latin1'), text);
        }
      });
    }
  });
}
