import fc from 'fast-check';
import { type Endpoint } from '@smg/protocol';
import { usageOf, UsageWatch } from './usage';

const json = (value: unknown) => Buffer.from(JSON.stringify(value));
const FORGED = '"usage":{"total_tokens":1}';

describe('usageOf', () => {
  const cases: [name: string, endpoint: Endpoint, body: unknown, tokens: number | undefined][] = [
    ['OpenAI', 'chat', { usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 } }, 12],
    ['parts without a total', 'chat', { usage: { prompt_tokens: 5, completion_tokens: 7 } }, 12],
    ['Anthropic', 'messages', { usage: { input_tokens: 5, output_tokens: 7 } }, 12],
    [
      'Anthropic with a cache',
      'messages',
      {
        usage: {
          input_tokens: 5,
          cache_creation_input_tokens: 100,
          cache_read_input_tokens: 20,
          output_tokens: 7,
        },
      },
      132,
    ],
    ['SGLang', 'generate', { text: 't', meta_info: { prompt_tokens: 5, completion_tokens: 7 } }, 12],
    [
      'a batch',
      'generate',
      [5, 6].map((n) => ({ meta_info: { prompt_tokens: n, completion_tokens: 1 } })),
      13,
    ],
    ['a batch with a gap', 'generate', [{ meta_info: { prompt_tokens: 5 } }, {}], undefined],
    ['null', 'chat', { usage: null }, undefined],
    ['nothing', 'chat', { choices: [] }, undefined],
    ['one half', 'chat', { usage: { prompt_tokens: 5 } }, undefined],
    ['text that looks like it', 'chat', { content: FORGED }, undefined],
    ['further inside', 'messages', { content: [{ input: { usage: { total_tokens: 1 } } }] }, undefined],
    ['words for numbers', 'chat', { usage: { total_tokens: 'many' } }, undefined],
  ]; // prettier-ignore
  it.each(cases)('%s', (_, endpoint, body, tokens) => {
    expect(usageOf(endpoint, json(body))).toBe(tokens);
  });

  it('searches a large answer, and takes the largest report for its own', () => {
    const content = [{ input: { usage: { total_tokens: 1 } }, text: 'x'.repeat(100_000) }];
    expect(usageOf('chat', json({ content, usage: { total_tokens: 9 } }))).toBe(9);
    expect(usageOf('chat', json({ content: 'x'.repeat(100_000) }))).toBeUndefined();
    const entry = {
      text: 'x'.repeat(50_000),
      meta_info: { prompt_tokens: 1, completion_tokens: 1 },
    };
    expect(usageOf('generate', json([entry]))).toBe(2);
    expect(usageOf('generate', json([entry, entry]))).toBeUndefined();
  });

  it.each(['', 'x', '[', '[1]', '{"usage":', 'null'])('makes nothing of %j', (text) => {
    expect(usageOf('chat', Buffer.from(text))).toBeUndefined();
  });
});

describe('UsageWatch', () => {
  const watch = (endpoint: Endpoint, ...chunks: string[]) => {
    const it = new UsageWatch(endpoint);
    for (const chunk of chunks) it.see(Buffer.from(chunk));
    return it.tokens;
  };
  const event = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
  const usage = (total: number) => ({ usage: { prompt_tokens: 1, total_tokens: total } });
  const OPENAI = [
    event({ choices: [{ delta: { content: FORGED } }], usage: null }),
    event({ choices: [], ...usage(42) }),
    'data: [DONE]\n\n',
  ];
  const ANTHROPIC = [
    `event: message_start\n${event({ message: { usage: { input_tokens: 10, output_tokens: 1 } } })}`,
    `event: message_delta\n${event({ type: 'message_delta', usage: { output_tokens: 30 } })}`,
  ];
  const meta = (n: number) =>
    event({ text: 't'.repeat(n), meta_info: { id: 'x', prompt_tokens: 4, completion_tokens: n } });
  const SGLANG = [meta(1), meta(2), meta(3)];

  it.each<[string, Endpoint, string[], number | undefined]>([
    ['OpenAI', 'chat', OPENAI, 42],
    ['Anthropic', 'messages', ANTHROPIC, 40],
    ['SGLang', 'generate', SGLANG, 7],
    ['a stream that reports nothing', 'chat', [event({ usage: null }), 'data: [DONE]\n\n'], undefined],
    ['totals that grow', 'chat', [event(usage(5)), event(usage(9))], 9],
    ['an echo of a smaller one', 'chat', [event(usage(50)), event(usage(0))], 50],
    ['the beginning of a message only', 'messages', [event({ usage: { input_tokens: 3 } })], undefined],
    ['a message that was cut', 'messages', ANTHROPIC.slice(0, 1), undefined],
    ['an echo beside figures without a total', 'messages', [event({ x: usage(0) }), ...ANTHROPIC], 40],
  ])('%s', (_, endpoint, chunks, tokens) => {
    expect(watch(endpoint, ...chunks)).toBe(tokens);
  }); // prettier-ignore

  it.each<[string, Endpoint, string[], number]>([
    ['OpenAI', 'chat', OPENAI, 42],
    ['Anthropic', 'messages', ANTHROPIC, 40],
    ['SGLang', 'generate', SGLANG, 7],
  ])('%s, cut anywhere', (_, endpoint, chunks, tokens) => {
    const whole = chunks.join('');
    fc.assert(
      fc.property(fc.array(fc.nat(whole.length), { maxLength: 12 }), (cuts) => {
        const at = [0, ...cuts.sort((a, b) => a - b), whole.length];
        const parts = at.slice(1).map((end, i) => whole.slice(at[i], end));
        expect(watch(endpoint, ...parts)).toBe(tokens);
      }),
    );
    expect(watch(endpoint, ...Array.from(whole))).toBe(tokens);
  });
});
