import { buildRerankAnswer, rerankRequest } from './rerank-answer';

const request = { model: 'm', topK: undefined, returnsDocuments: true, rid: undefined };
const build = (body: string, more: object = {}): string =>
  buildRerankAnswer(Buffer.from(body), { ...request, ...more }, 7).toString();

describe('buildRerankAnswer', () => {
  it.each([
    ['SGLang', '[{"score":0.50,"document":"d","index":1,"meta_info":{"id":"x"}}]'],
    [
      'vLLM',
      '{"id":"x","results":[{"index":1,"document":{"text":"d","multi_modal":null},"relevance_score":0.50,"meta_info":{"id":"x"}}],"model":"engine"}',
    ],
  ])('one shape: %s', (_title, body) => {
    expect(build(body, { rid: ['a', 'b'] })).toBe(
      '{"results":[{"score":0.50,"document":"d","index":1,"meta_info":{"id":"x"}}],"model":"m","usage":null,"object":"rerank","id":["a","b"],"created":7}',
    );
  });

  it('the last of a repeated member counts, as for every reader', () => {
    expect(build('[{"score":1,"index":0,"score":2}]')).toContain('{"score":2,"index":0}');
    expect(build('{"results":[],"results":[{"score":1,"index":0}]}')).toContain('"score":1');
  });

  it('cuts, and leaves documents out', () => {
    const body = '[ {"score":1,"index":0,"document":"a"} , {"score":0,"index":1,"document":"b"} ]';
    expect(build(body, { topK: 1, returnsDocuments: false })).toContain(
      '"results":[{"score":1,"index":0}]',
    );
  });

  it.each(['', '{}', '1', 'null', '{"results":{}}', '[1]', '[{"score":"1","index":0}]', '[[]]'])(
    '%j is no ranking',
    (body) => {
      expect(() => build(body)).toThrow(
        expect.objectContaining({ code: 'rerank_response_build_failed' }) as Error,
      );
    },
  );

  it('/v1/rerank knows no options', () => {
    const json = { top_k: 1, return_documents: false, rid: 'r' };
    expect(rerankRequest('/v1/rerank', json, 'm')).toEqual(request);
    expect(rerankRequest('/rerank', json, 'm')).toEqual({
      model: 'm',
      topK: 1,
      returnsDocuments: false,
      rid: 'r',
    });
  });
});
