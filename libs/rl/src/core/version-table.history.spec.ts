import { type ControlEffect, type MemoryTag } from '@smg/plugin-api';
import fc from 'fast-check';
import { CONTROL_STATES, type ControlState } from './engine-state';
import { VersionTable, type Closing } from './version-table';
import { equalVersions, laterVersion, parseVersion, type WeightVersion } from './weight-version';

// Any history of calls, removals and restarts, run against the table and against the same rules
// written as plainly as possible.

const ALL: readonly MemoryTag[] = ['weights', 'kv_cache', 'cuda_graph'];
const URLS = ['http://a:1', 'http://b:1', 'http://c:1'];
const MODELS = ['m', 'n'];

interface PlainEngine {
  model: string;
  version: WeightVersion | undefined;
  paused: boolean;
  released: Set<MemoryTag>;
}

interface OpenCall {
  readonly url: string;
  readonly paused: boolean;
  readonly released: readonly MemoryTag[];
  readonly closing: Closing;
}

class World {
  readonly table = new VersionTable();
  readonly engines = new Map<string, PlainEngine>();
  readonly open: OpenCall[] = [];

  enter(url: string, model: string): PlainEngine {
    let engine = this.engines.get(url);
    if (engine === undefined) {
      engine = { model, version: undefined, paused: false, released: new Set() };
      this.engines.set(url, engine);
    }
    return engine;
  }

  control(url: string, engine: PlainEngine): ControlState {
    const calls = this.open.filter((call) => call.url === url);
    if (engine.released.size > 0 || calls.some((call) => call.released.length > 0)) return 'asleep';
    return engine.paused || calls.some((call) => call.paused) ? 'paused' : 'active';
  }

  latest(model: string): WeightVersion | undefined {
    return [...this.engines.values()]
      .filter((engine) => engine.model === model)
      .flatMap(({ version }) => (version === undefined ? [] : [version]))
      .reduce<WeightVersion | undefined>(laterVersion, undefined);
  }

  /** Everything eligibility is decided from, as the table shows it. */
  facts(): string {
    const engines = [...this.table.entries()].map(
      ({ baseUrl, modelId, control, version }) =>
        `${baseUrl} ${modelId} ${control} ${version?.text ?? '-'}`,
    );
    return [...engines.sort(), ...MODELS.map((model) => this.table.latest(model)?.text)].join('\n');
  }
}

type Step = (world: World) => void;

/** A step that says what it does when a history fails. */
function step<T>(name: string, input: fc.Arbitrary<T>, run: (world: World, input: T) => void) {
  return input.map((one): Step => {
    const action: Step = (world) => {
      run(world, one);
    };
    return Object.assign(action, { toString: () => `${name} ${fc.stringify(one)}` });
  });
}

const url = fc.constantFrom(...URLS);
const model = fc.constantFrom(...MODELS);
const version = fc.constantFrom('1', '01', '2', '10', 'ckpt-1', 'ckpt-2').map(parseVersion);
const label = fc.option(version, { nil: undefined });
const tags = fc.subarray([...ALL]);

const STEPS: readonly fc.Arbitrary<Step>[] = [
  step('seed', fc.record({ url, model, label }), (world, one) => {
    if (!world.engines.has(one.url)) world.enter(one.url, one.model).version = one.label;
    world.table.seed(one.url, one.model, one.label);
  }),
  step('reseed', fc.record({ url, model, label }), (world, one) => {
    world.enter(one.url, one.model).version = one.label;
    world.table.reseed(one.url, one.model, one.label);
  }),
  step('write', fc.record({ url, model, version }), (world, one) => {
    world.enter(one.url, one.model).version = one.version;
    world.table.setVersion(one.url, one.model, one.version, 'api');
  }),
  step('refit', fc.record({ url, model, version }), (world, one) => {
    const engine = world.engines.get(one.url);
    if (engine !== undefined) engine.version = one.version;
    world.table.setVersion(one.url, one.model, one.version, 'passthrough');
  }),
  step(
    'setControl',
    fc.record({ url, model, to: fc.constantFrom(...CONTROL_STATES) }),
    (world, one) => {
      const engine = world.enter(one.url, one.model);
      engine.paused = one.to === 'paused';
      engine.released = new Set(one.to === 'asleep' ? ALL : []);
      world.table.setControl(one.url, one.model, one.to);
    },
  ),
  step('setModel', fc.record({ url, model }), (world, one) => {
    const engine = world.engines.get(one.url);
    if (engine !== undefined) engine.model = one.model;
    world.table.setModel(one.url, one.model);
  }),
  step('pause', url, (world, one) => {
    const engine = world.engines.get(one);
    if (engine !== undefined) engine.paused = true;
    world.table.pause(one);
  }),
  step('resume', url, (world, one) => {
    const engine = world.engines.get(one);
    if (engine !== undefined) engine.paused = false;
    world.table.resume(one);
  }),
  step('release', fc.record({ url, tags }), (world, one) => {
    const released = world.engines.get(one.url)?.released;
    for (const tag of one.tags.length === 0 ? ALL : one.tags) released?.add(tag);
    world.table.release(one.url, one.tags);
  }),
  step('restore', fc.record({ url, tags }), (world, one) => {
    const released = world.engines.get(one.url)?.released;
    for (const tag of one.tags.length === 0 ? ALL : one.tags) released?.delete(tag);
    world.table.restore(one.url, one.tags);
  }),
  step('remove', url, (world, one) => {
    expect(world.table.remove(one)).toBe(world.engines.delete(one));
  }),
  step('retain', fc.subarray([...URLS]), (world, kept) => {
    for (const known of [...world.engines.keys()]) {
      if (!kept.includes(known)) world.engines.delete(known);
    }
    world.table.retain(new Set(kept));
  }),
  step('begin', fc.record({ url, paused: fc.boolean(), tags }), (world, one) => {
    const effects: ControlEffect[] = one.paused ? [{ kind: 'pause' }] : [];
    if (one.tags.length > 0) effects.push({ kind: 'release', tags: one.tags });
    const closing = world.table.beginClosing(one.url, effects);
    world.open.push({ url: one.url, paused: one.paused, released: one.tags, closing });
  }),
  step('settle', fc.record({ which: fc.nat(5), agreed: fc.boolean() }), (world, one) => {
    const [call] = world.open.splice(one.which % Math.max(1, world.open.length), 1);
    if (call === undefined) return;
    const engine = world.engines.get(call.url);
    if (one.agreed && engine !== undefined) {
      engine.paused ||= call.paused;
      for (const tag of call.released) engine.released.add(tag);
    }
    if (one.agreed) call.closing.confirm();
    else call.closing.rollBack();
    call.closing.confirm(); // Settled already: must change nothing.
  }),
];

function compare(world: World): void {
  const { table, engines } = world;
  expect([...table.entries()].map(({ baseUrl }) => baseUrl).sort()).toEqual(
    [...engines.keys()].sort(),
  );
  let inactive = 0;
  for (const [baseUrl, engine] of engines) {
    const state = table.get(baseUrl);
    const control = world.control(baseUrl, engine);
    expect(state).toMatchObject({ modelId: engine.model, paused: engine.paused, control });
    expect(new Set(state?.released)).toEqual(engine.released);
    expect(state?.version?.text).toBe(engine.version?.text);
    expect(state?.source === undefined).toBe(engine.version === undefined);
    if (control !== 'active') inactive++;
  }
  expect(table.inactiveCount).toBe(inactive);
  for (const one of MODELS) {
    expect(equalVersions(table.latest(one), world.latest(one))).toBe(true);
  }
}

it('any history leaves the table as the plain rules say', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(...STEPS), { maxLength: 60, size: 'max' }), (history) => {
      const world = new World();
      for (const act of history) {
        const { epoch } = world.table;
        const before = world.facts();
        act(world);
        compare(world);
        expect(world.table.epoch).toBeGreaterThanOrEqual(epoch);
        // Whoever keeps a decision relies on this.
        if (world.facts() !== before) expect(world.table.epoch).toBeGreaterThan(epoch);
      }
    }),
    { numRuns: 300 },
  );
});
