import { type SelectionContext, type WorkerView } from '@smg/plugin-api';
import { fakeContext } from '../fakes/fake-context';
import { fakeWorker } from '../fakes/fake-worker';

/** Candidates and a request, as an author's filter or policy may meet them. */
export interface SampleSelection {
  readonly title: string;
  readonly candidates: readonly WorkerView[];
  readonly context: SelectionContext;
}

const fleet = (count: number): WorkerView[] =>
  Array.from({ length: count }, (_, index) =>
    fakeWorker({
      url: `http://w${index}:8000`,
      modelId: 'mock-model',
      load: index % 3,
      labels: { tier: index % 2 === 0 ? 'gold' : 'iron', pool: `p${index % 4}` },
    }),
  );

const ranks = (count: number): WorkerView[] =>
  Array.from({ length: count }, (_, rank) =>
    fakeWorker({ url: `http://dp:8000@${rank}`, dpSize: count, labels: { tier: 'gold' } }),
  );

/** The usual and the awkward; every array is frozen, as the gateway's are. */
export function sampleSelections(): readonly SampleSelection[] {
  const samples: SampleSelection[] = [
    { title: 'one worker, bare request', candidates: fleet(1), context: fakeContext() },
    { title: 'eight workers, bare request', candidates: fleet(8), context: fakeContext() },
    {
      title: 'a prompt and a routing key',
      candidates: fleet(5),
      context: fakeContext({ text: 'Tell me about harbors. '.repeat(40), routingKey: 'session-1' }),
    },
    {
      title: 'token ids',
      candidates: fleet(5),
      context: fakeContext({ tokens: Array.from({ length: 300 }, (_, id) => id) }),
    },
    {
      title: 'empty prompt, empty token list',
      candidates: fleet(3),
      context: fakeContext({ text: '', tokens: [] }),
    },
    {
      title: 'a prompt that is not valid UTF-8',
      candidates: fleet(3),
      context: fakeContext({ text: Buffer.from([0xff, 0xfe, 0x00, 0x80]) }),
    },
    { title: 'ranks of one engine', candidates: ranks(4), context: fakeContext() },
    {
      title: 'decode leg, third attempt',
      candidates: fleet(4),
      context: fakeContext({ leg: 'decode', attempt: 3, endpoint: 'chat', model: 'mock-model' }),
    },
    {
      title: 'a target index beyond the fleet',
      candidates: fleet(2),
      context: fakeContext({ headers: { 'x-smg-target-worker': '99' } }),
    },
  ];
  return samples.map((sample) => ({ ...sample, candidates: Object.freeze(sample.candidates) }));
}
