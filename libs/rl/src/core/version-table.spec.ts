import { type ControlEffect, type MemoryTag } from '@smg/plugin-api';
import { type ControlState } from './engine-state';
import { VersionTable } from './version-table';
import { parseVersion } from './weight-version';

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

  it('adds to what was released before, and stays settled as it was settled first', () => {
    const table = new VersionTable();
    table.seed(A, 'm', undefined);
    table.release(A, ['weights']);
    const refused = table.beginClosing(A, pause);
    refused.rollBack();
    refused.confirm();
    expect(table.get(A)?.paused).toBe(false);
    table.beginClosing(A, sleep).confirm();
    expect(table.get(A)?.released).toEqual(['weights', 'kv_cache']);
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
