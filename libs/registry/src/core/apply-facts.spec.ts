import { applyFacts } from './apply-facts';

const url = 'http://h:1';

describe('applyFacts', () => {
  it('lets the operator win over the engine, label by label', () => {
    const facts = { labels: { version: '1', tp_size: '2', empty: '' } };
    expect(applyFacts({ url, labels: { version: 'mine' } }, facts).labels).toEqual({
      version: 'mine',
      tp_size: '2',
    });
  });

  it('moves transfer labels to their fields', () => {
    const labels = { kv_connector: 'nixl', kv_role: 'both', kv_engine_id: 'e', x: 'y' };
    expect(applyFacts({ url, labels, kv_role: 'kv_producer' }, undefined)).toMatchObject({
      kv_connector: 'nixl',
      kv_role: 'kv_producer',
      kv_engine_id: 'e',
      labels: { x: 'y' },
    });
  });

  it.each([
    [{ served_model_name: 's', model_id: 'i', model_path: 'p' }, 's'],
    [{ model_id: 'i', model_path: 'p' }, 'i'],
    [{ model_path: 'p' }, 'p'],
    [{ served_model_name: 'unknown' }, undefined],
    [{}, undefined],
  ])('takes the model id of %j to be %s', (labels, id) => {
    expect(applyFacts({ url }, { labels }).models?.[0]?.id).toBe(id);
  });

  it('completes a single card and leaves several alone', () => {
    const facts = { labels: { model_id: 'other' }, contextLength: 10, modelType: ['chat'] };
    expect(applyFacts({ url, models: [{ id: 'm', context_length: 5 }] }, facts).models).toEqual([
      { id: 'm', context_length: 5, model_type: ['chat'] },
    ]);
    const two = [{ id: 'a' }, { id: 'b' }];
    expect(applyFacts({ url, models: two }, facts).models).toEqual(two);
  });
});
