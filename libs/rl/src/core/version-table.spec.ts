import { type ControlEffect, type MemoryTag } from '@smg/plugin-api';
import fc from 'fast-check';
import { type ControlState } from './engine-state';
import { VersionTable, type Closing } from './version-table';
import { equalVersions, laterVersion, parseVersion, type WeightVersion } from './weight-version';

const A = 'http://a:1';
const B = 'http://b:1';
const v = parseVersion;

/** A table whose changes are written down. */
function watched() {
  const table = new VersionTable();
  const log: string[] = [];
  const stop = table.listen({
    onVersion: ({ baseUrl, from, to, cause, source }) =>
      log.push(
        `${cause} ${baseUrl} ${from?.text ?? '-'} ${to?.text ?? '-'} ${source ?? '-'} at ${table.get(baseUrl)?.version?.text ?? '-'}`,
      ),
    onControl: ({ baseUrl, from, to }) => log.push(`control ${baseUrl} ${from} ${to}`),
    onRemoved: (baseUrl) => log.push(`removed ${baseUrl} ${table.get(baseUrl) === undefined}`),
  });
  const drain = () => log.splice(0);
  return { table, drain, stop };
}

describe('versions', () => {
  it('seeds once; what is known wins over a later label', () => {
    const { table, drain } = watched();
    expect(table.seed(A, 'm', v('5'))).toBe(true);
    expect(table.get(A)).toMatchObject({ modelId: 'm', source: 'registration', control: 'active' });
    expect(table.seed(A, 'n', v('6'))).toBe(false);
    expect(table.get(A)?.version?.text).toBe('5');
    expect(table.get(A)?.modelId).toBe('m');
    expect(drain()).toEqual([`seed ${A} - 5 registration at 5`]);
  });

  it('an engine seeded without a version has no source', () => {
    const { table, drain } = watched();
    table.seed(A, 'm', undefined);
    expect(table.get(A)).toMatchObject({ version: undefined, source: undefined });
    expect(drain()).toEqual([]);
  });

  it('an equal version is news of its source and spelling only', () => {
    const { table, drain } = watched();
    table.seed(A, 'm', v('42'));
    drain();
    expect(table.setVersion(A, 'm', v('042'), 'api')).toBe(true);
    expect(table.get(A)).toMatchObject({ source: 'api', version: { text: '042' } });
    expect(drain()).toEqual([]);
  });

  it('a differing version is told once, after the table holds it', () => {
    const { table, drain } = watched();
    table.seed(A, 'm', undefined);
    table.setVersion(A, 'm', v('1'), 'passthrough');
    table.setVersion(A, 'm', v('ckpt-2'), 'api');
    expect(drain()).toEqual([
      `write ${A} - 1 passthrough at 1`,
      `write ${A} 1 ckpt-2 api at ckpt-2`,
    ]);
  });

  it('the model of a known engine stays, whatever a writer says', () => {
    const table = new VersionTable();
    table.seed(A, 'm', undefined);
    table.setVersion(A, 'n', v('3'), 'api');
    expect(table.latest('m')?.text).toBe('3');
    expect(table.latest('n')).toBeUndefined();
  });

  it('an engine that serves another model counts there', () => {
    const table = new VersionTable();
    table.seed(A, 'm', v('3'));
    table.seed(B, 'm', v('2'));
    table.setModel(A, 'n');
    expect([table.latest('m')?.text, table.latest('n')?.text]).toEqual(['2', '3']);
  });

  it('a changed label replaces the version, back to none too, and leaves control alone', () => {
    const { table, drain } = watched();
    table.seed(A, 'm', v('1'));
    table.setVersion(A, 'm', v('9'), 'api');
    table.pause(A);
    drain();
    table.reseed(A, 'm', v('2'));
    expect(table.get(A)).toMatchObject({ source: 'registration', control: 'paused' });
    table.reseed(A, 'm', undefined);
    expect(table.get(A)).toMatchObject({ version: undefined, source: undefined });
    table.reseed(B, 'm', v('4'));
    expect(drain()).toEqual([
      `reseed ${A} 9 2 registration at 2`,
      `reseed ${A} 2 - - at -`,
      `seed ${B} - 4 registration at 4`,
    ]);
  });

  it('only the registry and the API make entries', () => {
    const table = new VersionTable();
    expect(table.setVersion(A, 'm', v('9'), 'passthrough')).toBe(false);
    table.pause(A);
    table.release(A, []);
    expect(table.get(A)).toBeUndefined();
    expect(table.setVersion(A, 'm', v('9'), 'api')).toBe(true);
    table.setControl(B, 'm', 'asleep');
    expect(table.size).toBe(2);
    expect(table.inactiveCount).toBe(1);
  });

  it('the maximum falls when its engine leaves or goes back', () => {
    const table = new VersionTable();
    table.seed(A, 'm', v('3'));
    table.seed(B, 'm', v('2'));
    expect(table.latest('m')?.text).toBe('3');
    table.setVersion(A, 'm', v('1'), 'api');
    expect(table.latest('m')?.text).toBe('2');
    table.remove(B);
    expect(table.latest('m')?.text).toBe('1');
    table.remove(A);
    expect(table.latest('m')).toBeUndefined();
  });

  it('one number outranks all text', () => {
    const table = new VersionTable();
    table.seed(A, 'm', v('zzz'));
    table.seed(B, 'm', v('1'));
    table.seed('http://c:1', 'm', v('~~~'));
    expect(table.latest('m')?.text).toBe('1');
    table.remove(B);
    expect(table.latest('m')?.text).toBe('~~~');
  });
});

describe('control', () => {
  const MEMORY: readonly MemoryTag[] = ['weights', 'kv_cache'];

  it('pause and sleep are two facts', () => {
    const { table, drain } = watched();
    table.seed(A, 'm', undefined);
    table.pause(A);
    table.release(A, MEMORY);
    expect(table.get(A)).toMatchObject({ paused: true, released: MEMORY, control: 'asleep' });
    table.resume(A);
    expect(table.get(A)?.control).toBe('asleep');
    table.pause(A);
    table.restore(A, ['weights']);
    expect(table.get(A)?.control).toBe('asleep');
    table.restore(A, ['kv_cache']);
    expect(table.get(A)?.control).toBe('paused');
    table.resume(A);
    expect(drain()).toEqual([
      `control ${A} active paused`,
      `control ${A} paused asleep`,
      `control ${A} asleep paused`,
      `control ${A} paused active`,
    ]);
  });

  it('no tags means all of them', () => {
    const table = new VersionTable();
    table.seed(A, 'm', undefined);
    table.release(A, []);
    expect(table.get(A)?.released).toEqual(['weights', 'kv_cache', 'cuda_graph']);
    table.restore(A, ['weights', 'kv_cache']);
    expect(table.get(A)?.control).toBe('asleep');
    table.restore(A, []);
    expect(table.get(A)?.control).toBe('active');
  });

  it.each<[ControlState, boolean, number]>([
    ['active', false, 0],
    ['paused', true, 0],
    ['asleep', false, 3],
  ])('a write of %s sets both facts', (control, paused, released) => {
    const table = new VersionTable();
    table.seed(A, 'm', undefined);
    table.pause(A);
    table.release(A, ['kv_cache']);
    table.setControl(A, 'm', control);
    expect(table.get(A)).toMatchObject({ control, paused });
    expect(table.get(A)?.released).toHaveLength(released);
  });

  it('an engine that is removed and comes back is active', () => {
    const { table, drain } = watched();
    table.seed(A, 'm', v('9'));
    table.pause(A);
    drain();
    expect(table.remove(A)).toBe(true);
    expect(table.remove(A)).toBe(false);
    expect(table.inactiveCount).toBe(0);
    table.seed(A, 'm', v('1'));
    expect(table.get(A)).toMatchObject({ control: 'active', version: { text: '1' } });
    expect(drain()).toEqual([`removed ${A} true`, `seed ${A} - 1 registration at 1`]);
  });

  it('retain drops the rest', () => {
    const { table, drain } = watched();
    table.seed(A, 'm', v('1'));
    table.seed(B, 'm', v('2'));
    table.pause(B);
    drain();
    table.retain(new Set([A]));
    expect(drain()).toEqual([`removed ${B} true`]);
    expect([table.size, table.inactiveCount, table.latest('m')?.text]).toEqual([1, 0, '1']);
  });
});

describe('closing comes first', () => {
  const pause: readonly ControlEffect[] = [{ kind: 'pause' }];
  const sleep: readonly ControlEffect[] = [{ kind: 'release', tags: ['kv_cache'] }];

  it('closes at once, and stays closed when the engine agreed', () => {
    const { table, drain } = watched();
    table.seed(A, 'm', undefined);
    const closing = table.beginClosing(A, pause);
    expect(table.get(A)).toMatchObject({ control: 'paused', paused: false });
    closing.confirm();
    expect(table.get(A)).toMatchObject({ control: 'paused', paused: true });
    closing.rollBack();
    expect(table.get(A)?.control).toBe('paused');
    expect(drain()).toEqual([`control ${A} active paused`]);
  });

  it('is as it was when the engine did not', () => {
    const table = new VersionTable();
    table.seed(A, 'm', undefined);
    table.pause(A);
    const closing = table.beginClosing(A, sleep);
    expect(table.get(A)?.control).toBe('asleep');
    closing.rollBack();
    expect(table.get(A)).toMatchObject({ control: 'paused', released: [] });
  });

  it('calls that overlap compose: one that fails does not open what another closes', () => {
    const table = new VersionTable();
    table.seed(A, 'm', undefined);
    const first = table.beginClosing(A, pause);
    const second = table.beginClosing(A, pause);
    first.rollBack();
    expect(table.get(A)?.control).toBe('paused');
    second.confirm();
    expect(table.get(A)).toMatchObject({ control: 'paused', paused: true });
  });

  it('an opening that is answered meanwhile does not open what is still closing', () => {
    const table = new VersionTable();
    table.seed(A, 'm', undefined);
    table.pause(A);
    const closing = table.beginClosing(A, pause);
    table.resume(A);
    table.setControl(A, 'm', 'active');
    expect(table.get(A)?.control).toBe('paused');
    closing.rollBack();
    expect(table.get(A)?.control).toBe('active');
  });

  it('outlives the entry: a call under way closes whoever comes back', () => {
    const table = new VersionTable();
    table.seed(A, 'm', undefined);
    const closing = table.beginClosing(A, pause);
    table.remove(A);
    expect(table.inactiveCount).toBe(0);
    table.seed(A, 'm', undefined);
    expect(table.get(A)?.control).toBe('paused');
    expect(table.inactiveCount).toBe(1);
    closing.confirm();
    expect(table.get(A)?.paused).toBe(true);
  });

  it('settling after the engine left makes no ghost', () => {
    const table = new VersionTable();
    table.seed(A, 'm', undefined);
    const closing = table.beginClosing(A, pause);
    table.remove(A);
    closing.confirm();
    expect(table.size).toBe(0);
    table.seed(A, 'm', undefined);
    expect(table.get(A)?.control).toBe('active');
  });

  it('what opens or refits closes nothing', () => {
    const { table } = watched();
    table.seed(A, 'm', undefined);
    const { epoch } = table;
    table.beginClosing(A, [{ kind: 'resume' }, { kind: 'version', version: '1' }]).confirm();
    expect([table.epoch, table.get(A)?.control]).toEqual([epoch, 'active']);
  });
});

it('a listener that stopped hears nothing more', () => {
  const { table, drain, stop } = watched();
  stop();
  stop();
  table.seed(A, 'm', v('1'));
  expect(drain()).toEqual([]);
});

/** The same table, written as plainly as possible. */
class PlainTable {
  readonly engines = new Map<
    string,
    {
      model: string;
      version?: WeightVersion | undefined;
      paused: boolean;
      released: Set<MemoryTag>;
    }
  >();
  readonly open: { url: string; paused: boolean; released: readonly MemoryTag[] }[] = [];

  control(url: string): ControlState | undefined {
    const engine = this.engines.get(url);
    if (engine === undefined) return undefined;
    const calls = this.open.filter((call) => call.url === url);
    if (engine.released.size > 0 || calls.some((call) => call.released.length > 0)) return 'asleep';
    return engine.paused || calls.some((call) => call.paused) ? 'paused' : 'active';
  }

  latest(model: string): WeightVersion | undefined {
    const versions = [...this.engines.values()]
      .filter((engine) => engine.model === model)
      .flatMap(({ version }) => (version === undefined ? [] : [version]));
    return versions.reduce<WeightVersion | undefined>(laterVersion, undefined);
  }
}

const ALL: readonly MemoryTag[] = ['weights', 'kv_cache', 'cuda_graph'];
const urls = fc.constantFrom(A, B, 'http://c:1');
const models = fc.constantFrom('m', 'n');
const versions = fc.constantFrom('1', '01', '2', '10', 'ckpt-1', 'ckpt-2').map(v);
const tags = fc.subarray([...ALL]);
const step = fc.oneof(
  fc.record({
    op: fc.constant('seed' as const),
    url: urls,
    model: models,
    version: fc.option(versions, { nil: undefined }),
  }),
  fc.record({
    op: fc.constant('reseed' as const),
    url: urls,
    model: models,
    version: fc.option(versions, { nil: undefined }),
  }),
  fc.record({
    op: fc.constant('setVersion' as const),
    url: urls,
    model: models,
    version: versions,
    api: fc.boolean(),
  }),
  fc.record({
    op: fc.constant('setControl' as const),
    url: urls,
    model: models,
    control: fc.constantFrom<ControlState>('active', 'paused', 'asleep'),
  }),
  fc.record({
    op: fc.constantFrom('pause' as const, 'resume' as const, 'remove' as const),
    url: urls,
  }),
  fc.record({ op: fc.constantFrom('release' as const, 'restore' as const), url: urls, tags }),
  fc.record({ op: fc.constant('setModel' as const), url: urls, model: models }),
  fc.record({ op: fc.constant('begin' as const), url: urls, pauses: fc.boolean(), tags }),
  fc.record({ op: fc.constantFrom('confirm' as const, 'rollBack' as const), which: fc.nat(5) }),
  fc.record({ op: fc.constant('retain' as const), urls: fc.subarray([A, B, 'http://c:1']) }),
);

it('any history leaves the table as the plain model says', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const table = new VersionTable();
      const plain = new PlainTable();
      const closings: Closing[] = [];
      const enter = (url: string, model: string) => {
        const known = plain.engines.get(url) ?? { model, paused: false, released: new Set() };
        plain.engines.set(url, known);
        return known;
      };
      for (const one of steps) {
        const before = { epoch: table.epoch, seen: eligibilityFacts(table) };
        apply(one);
        check(before);
      }

      function apply(one: (typeof steps)[number]): void {
        switch (one.op) {
          case 'seed':
            if (!plain.engines.has(one.url)) enter(one.url, one.model).version = one.version;
            table.seed(one.url, one.model, one.version);
            return;
          case 'reseed':
            enter(one.url, one.model).version = one.version;
            table.reseed(one.url, one.model, one.version);
            return;
          case 'setVersion':
            if (one.api || plain.engines.has(one.url))
              enter(one.url, one.model).version = one.version;
            table.setVersion(one.url, one.model, one.version, one.api ? 'api' : 'passthrough');
            return;
          case 'setControl': {
            const engine = enter(one.url, one.model);
            engine.paused = one.control === 'paused';
            engine.released = new Set(one.control === 'asleep' ? ALL : []);
            table.setControl(one.url, one.model, one.control);
            return;
          }
          case 'setModel': {
            const engine = plain.engines.get(one.url);
            if (engine !== undefined) engine.model = one.model;
            table.setModel(one.url, one.model);
            return;
          }
          case 'pause':
          case 'resume': {
            const engine = plain.engines.get(one.url);
            if (engine !== undefined) engine.paused = one.op === 'pause';
            table[one.op](one.url);
            return;
          }
          case 'release':
          case 'restore': {
            const named = one.tags.length === 0 ? ALL : one.tags;
            const released = plain.engines.get(one.url)?.released;
            for (const tag of named) released?.[one.op === 'release' ? 'add' : 'delete'](tag);
            table[one.op](one.url, one.tags);
            return;
          }
          case 'remove':
            plain.engines.delete(one.url);
            table.remove(one.url);
            return;
          case 'retain':
            for (const url of plain.engines.keys()) {
              if (!one.urls.includes(url)) plain.engines.delete(url);
            }
            table.retain(new Set(one.urls));
            return;
          case 'begin': {
            // Without tags: a call that only pauses, or nothing at all.
            const effects: ControlEffect[] = one.pauses ? [{ kind: 'pause' }] : [];
            if (one.tags.length > 0) effects.push({ kind: 'release', tags: one.tags });
            plain.open.push({ url: one.url, paused: one.pauses, released: one.tags });
            closings.push(table.beginClosing(one.url, effects));
            return;
          }
          case 'confirm':
          case 'rollBack': {
            if (closings.length === 0) return;
            const at = one.which % closings.length;
            const [call] = plain.open.splice(at, 1);
            const [closing] = closings.splice(at, 1);
            const engine = call === undefined ? undefined : plain.engines.get(call.url);
            if (one.op === 'confirm' && engine !== undefined && call !== undefined) {
              engine.paused ||= call.paused;
              for (const tag of call.released) engine.released.add(tag);
            }
            closing?.[one.op]();
            closing?.confirm();
            return;
          }
        }
      }

      function check(before: { epoch: number; seen: string }): void {
        expect([...table.entries()].map(({ baseUrl }) => baseUrl).sort()).toEqual(
          [...plain.engines.keys()].sort(),
        );
        let inactive = 0;
        for (const [url, engine] of plain.engines) {
          const state = table.get(url);
          expect(state).toMatchObject({
            modelId: engine.model,
            paused: engine.paused,
            control: plain.control(url),
          });
          expect(new Set(state?.released)).toEqual(engine.released);
          expect(state?.version?.text).toBe(engine.version?.text);
          expect(state?.source === undefined).toBe(engine.version === undefined);
          if (plain.control(url) !== 'active') inactive++;
        }
        expect(table.inactiveCount).toBe(inactive);
        for (const model of ['m', 'n']) {
          expect(equalVersions(table.latest(model), plain.latest(model))).toBe(true);
        }
        expect(table.epoch).toBeGreaterThanOrEqual(before.epoch);
        if (eligibilityFacts(table) !== before.seen) {
          expect(table.epoch).toBeGreaterThan(before.epoch);
        }
      }
    }),
    { numRuns: 400 },
  );
});

/** Everything eligibility is decided from. */
function eligibilityFacts(table: VersionTable): string {
  const facts = [...table.entries()].map(
    ({ baseUrl, modelId, control, version }) =>
      `${baseUrl} ${modelId} ${control} ${version?.text ?? '-'}`,
  );
  return [...facts, table.latest('m')?.text, table.latest('n')?.text].join('\n');
}
