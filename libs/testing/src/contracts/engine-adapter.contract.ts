import { strict as assert } from 'node:assert';
import { types } from 'node:util';
import {
  type AskEngine,
  type EngineAdapter,
  type EngineAnswer,
  type EngineFacts,
} from '@smg/plugin-api';
import { runner } from './runner';

/** Answers of an engine by path; a path that is missing answers 404. */
export type RecordedAnswers = Readonly<Record<string, unknown>>;

/** Things an engine may answer that no reader may fall over. */
const NONSENSE: readonly unknown[] = [
  undefined,
  null,
  true,
  42,
  'text',
  [],
  {},
  { data: null },
  { data: [null] },
  { data: [{ id: 7, root: null, max_model_len: 'many' }] },
  { model_path: { deep: [] }, dp_size: -1, context_length: 'wide', architectures: 'one' },
];

function checkFacts(facts: EngineFacts): void {
  for (const [name, value] of Object.entries(facts.labels)) {
    assert.notEqual(name, '', 'a label needs a name');
    assert.equal(typeof value, 'string', `label ${name} must be text`);
    assert.notEqual(value, '', `label ${name} is empty: leave it out`);
  }
  if (facts.contextLength !== undefined) {
    assert.ok(Number.isInteger(facts.contextLength) && facts.contextLength > 0, 'contextLength');
  }
  for (const list of [facts.modelType, facts.architectures]) {
    if (list === undefined) continue;
    assert.ok(
      list.every((one) => typeof one === 'string' && one !== ''),
      'lists hold non-empty text',
    );
  }
}

/** Discovery may reject; what it answers must be sound. */
async function discoverQuietly(adapter: EngineAdapter, ask: AskEngine): Promise<void> {
  let facts: EngineFacts;
  try {
    facts = await adapter.discover(ask);
  } catch (error) {
    // Errors of Node itself are of another realm under some runners.
    assert.ok(error instanceof Error || types.isNativeError(error), 'reject with an Error');
    return;
  }
  checkFacts(facts);
}

/**
 * Declares a suite that holds an adapter to the contract of {@link EngineAdapter}.
 *
 * @param recorded what a real engine of this kind answers; discovery must make labels of it.
 */
export function describeEngineAdapter(
  name: string,
  make: () => EngineAdapter,
  recorded?: RecordedAnswers,
): void {
  const { describe, it } = runner();
  describe(`${name} keeps the contract of an engine adapter`, () => {
    it('names itself and says how it is recognised', () => {
      const { name: kind, recognition } = make();
      assert.match(kind, /^[a-z0-9][a-z0-9_-]*$/);
      assert.ok(recognition.ownedBy.every((owner) => owner !== ''));
      assert.ok(Number.isFinite(recognition.order));
      if (recognition.path !== undefined) assert.ok(recognition.path.startsWith('/'));
    });

    it('asks for absolute paths only', async () => {
      const asked: string[] = [];
      // What it makes of the answers is looked at below.
      await discoverQuietly(make(), (path) => {
        asked.push(path);
        return Promise.resolve({ status: 200, json: recorded?.[path] });
      }).catch(() => undefined);
      for (const path of asked) assert.ok(path.startsWith('/'), `${path} does not start with /`);
    });

    it('stands an engine that answers nothing it asks', async () => {
      await discoverQuietly(make(), () => Promise.resolve({ status: 404, json: undefined }));
      await discoverQuietly(make(), () => Promise.resolve({ status: 500, json: { error: 'x' } }));
      await discoverQuietly(make(), () => Promise.reject(new Error('connection refused')));
    });

    for (const json of NONSENSE) {
      it(`stands ${json === undefined ? 'no JSON at all' : JSON.stringify(json)} for every answer`, async () => {
        await discoverQuietly(make(), () => Promise.resolve({ status: 200, json }));
      });
    }

    if (recorded === undefined) return;
    it('learns from what a real engine answers', async () => {
      const ask = (path: string): Promise<EngineAnswer> =>
        Promise.resolve(
          path in recorded
            ? { status: 200, json: recorded[path] }
            : { status: 404, json: { detail: 'Not Found' } },
        );
      const facts = await make().discover(ask);
      checkFacts(facts);
      assert.ok(Object.keys(facts.labels).length > 0, 'no label was learned');
    });
  });
}
