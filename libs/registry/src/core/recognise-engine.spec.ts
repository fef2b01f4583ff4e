import { type EngineAdapter } from '@smg/plugin-api';
import { recogniseEngine } from './recognise-engine';
import { testCatalog } from '../../test/catalog';

function recognise(answers: Readonly<Record<string, unknown>>): Promise<EngineAdapter | undefined> {
  return recogniseEngine(testCatalog().all(), (path) => {
    const json = answers[path];
    if (json === undefined) return Promise.reject(new Error('no route'));
    return Promise.resolve({ status: 200, json });
  });
}

const owned = (owned_by: unknown) => ({ '/v1/models': { data: [{ id: 'm', owned_by }] } });

describe('recogniseEngine', () => {
  it.each([
    ['its owner', { ...owned('vllm'), '/server_info': {} }, 'vllm'],
    ['another owner', { ...owned('sglang'), '/version': {} }, 'sglang'],
    ['a path, when the owner is unknown', { ...owned('me'), '/server_info': {} }, 'sglang'],
    ['the first of two paths', { '/version': {}, '/server_info': {} }, 'vllm'],
    ['nothing but a model list', owned('me'), 'generic'],
    ['a model list without owner', owned(undefined), 'generic'],
    ['silence', {}, 'sglang'],
    ['nonsense', { '/v1/models': { data: 'x' } }, 'sglang'],
  ])('goes by %s', async (_case, answers, expected) => {
    expect((await recognise(answers))?.name).toBe(expected);
  });
});
