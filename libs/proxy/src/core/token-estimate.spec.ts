import { type Endpoint } from '@smg/protocol';
import { estimateTokens } from './token-estimate';

const cases: [name: string, endpoint: Endpoint, body: object, bytes: number, tokens: number][] = [
  ['text, rounded up', 'chat', {}, 9, 3],
  ['no text and no limit', 'chat', {}, 0, 0],
  ['a limit', 'chat', { max_tokens: 10 }, 4, 11],
  ['the newer name first', 'chat', { max_tokens: 10, max_completion_tokens: 20 }, 0, 20],
  ['times the samples', 'chat', { max_tokens: 10, n: 3 }, 4, 31],
  ['a name of another route', 'messages', { max_completion_tokens: 10 }, 0, 0],
  ['messages', 'messages', { max_tokens: 10 }, 0, 10],
  ['responses', 'responses', { max_output_tokens: 10, max_tokens: 99 }, 0, 10],
  ['embeddings generate nothing', 'embeddings', { max_tokens: 10 }, 8, 2],
  ['a batch of prompts', 'completions', { prompt: ['a', 'b'], max_tokens: 10, n: 2 }, 3, 41],
  ['a prompt of ids', 'completions', { prompt: [1, 2, 3], max_tokens: 10 }, 0, 13],
  ['prompts of ids', 'completions', { prompt: [[1, 2], [3]], max_tokens: 10 }, 0, 23],
  ['generate', 'generate', { text: 'x', sampling_params: { max_new_tokens: 7, n: 2 } }, 4, 15],
  ['generate with ids', 'generate', { input_ids: [1, 2, 3] }, 5, 3],
  ['a batch of ids', 'generate', { input_ids: [[1, 2], [3]], sampling_params: { max_new_tokens: 5 } }, 3, 13],
  [
    'parameters for each prompt',
    'generate',
    { text: ['x', 'y'], sampling_params: [{ max_new_tokens: 5 }, { max_new_tokens: 9 }, null] },
    3,
    19,
  ],
  ['ids beside a text are not the prompt', 'generate', { text: 'x', input_ids: [1, 2, 3] }, 4, 1],
  ['numbers that are none', 'chat', { max_tokens: '10', n: 'many' }, 4, 1],
  ['a negative limit', 'chat', { max_tokens: -1, n: -3 }, 4, 1],
  ['an empty batch', 'completions', { prompt: [], max_tokens: 10 }, 0, 10],
  ['parameters that are none', 'generate', { text: 'x', sampling_params: 'x' }, 4, 1],
]; // prettier-ignore

describe('estimateTokens', () => {
  it.each(cases)('%s', (_, endpoint, body, bytes, tokens) => {
    expect(estimateTokens(endpoint, body as Record<string, unknown>, bytes).tokens).toBe(tokens);
  });

  it('stays a number whatever is asked for', () => {
    const huge = [Number.MAX_VALUE, Infinity, 1e300];
    for (const max_tokens of [...huge, undefined]) {
      for (const n of huge) {
        const { tokens } = estimateTokens('chat', { max_tokens, n }, 40);
        expect(tokens).toBeGreaterThanOrEqual(max_tokens === undefined ? 10 : 2 ** 32);
      }
    }
  });
});
