import { type ControlEffect } from '@smg/plugin-api';
import { isAgreement, observeCall } from './observe';
import { VersionTable } from './version-table';
import { parseVersion } from './weight-version';

const ENGINE = { baseUrl: 'http://a:1', modelId: 'm' };
const OK = Buffer.from('{"success":true}');
const NO = Buffer.from('{"success":false}');
const PAUSE: ControlEffect = { kind: 'pause' };

function known() {
  const table = new VersionTable();
  table.seed(ENGINE.baseUrl, ENGINE.modelId, parseVersion('1'));
  return { table, state: table.get(ENGINE.baseUrl)! };
}

describe('isAgreement', () => {
  it.each([
    [200, '', true],
    [200, '{}', true],
    [204, '', true],
    [299, 'null', true],
    [200, '{"success":true}', true],
    [200, '{"success":null}', true],
    [200, '{"status":"ok"}', true],
    [200, '{"status":"paused","message":"error"}', true],
    [200, '[{"success":false}]', true],
    [200, '{"success":false', true],
    [200, 'error', true],
    [200, '"error"', true],
    [200, '{"success":false}', false],
    [200, '{"status":"error"}', false],
    [200, '{"success":true,"status":"error"}', false],
    [199, '', false],
    [300, '', false],
    [400, '{"success":true}', false],
    [500, '', false],
  ])('%i %s: %s', (status, body, expected) => {
    expect(isAgreement(status, Buffer.from(body))).toBe(expected);
  });
});

describe('observeCall', () => {
  it('a pause closes before the call, and a refusal opens again', () => {
    const { table, state } = known();
    const call = observeCall(table, ENGINE, [PAUSE]);
    expect(state.control).toBe('paused');
    expect(call.answered(200, NO)).toBe(false);
    expect(state.control).toBe('active');
  });

  it('a pause that was answered stays', () => {
    const { table, state } = known();
    const call = observeCall(table, ENGINE, [PAUSE]);
    expect(call.answered(200, OK)).toBe(true);
    call.failed();
    expect(state).toMatchObject({ control: 'paused', paused: true });
  });

  it('an opening whose answer comes late does not undo a closing that was sent after it', () => {
    const { table, state } = known();
    observeCall(table, ENGINE, [PAUSE]).answered(200, OK);
    const late = observeCall(table, ENGINE, [{ kind: 'resume' }]);
    observeCall(table, ENGINE, [PAUSE]).answered(200, OK);
    late.answered(200, OK);
    expect(state).toMatchObject({ control: 'paused', paused: true });
    observeCall(table, ENGINE, [{ kind: 'resume' }]).answered(200, OK);
    expect(state.control).toBe('active');
  });

  it('the same for each part of the memory', () => {
    const { table, state } = known();
    observeCall(table, ENGINE, [{ kind: 'release', tags: [] }]).answered(200, OK);
    const late = observeCall(table, ENGINE, [{ kind: 'restore', tags: [] }]);
    observeCall(table, ENGINE, [{ kind: 'release', tags: ['kv_cache'] }]).answered(200, OK);
    late.answered(200, OK);
    expect(state.released).toEqual(['kv_cache']);
    observeCall(table, ENGINE, [{ kind: 'restore', tags: [] }]).answered(200, OK);
    expect(state.control).toBe('active');
  });

  it('a closing that was refused stands in the way of no opening', () => {
    const { table, state } = known();
    observeCall(table, ENGINE, [PAUSE]).answered(200, OK);
    const late = observeCall(table, ENGINE, [{ kind: 'resume' }]);
    observeCall(table, ENGINE, [PAUSE]).answered(500, OK);
    late.answered(200, OK);
    expect(state.control).toBe('active');
  });

  it('a call without an answer changes nothing', () => {
    const { table, state } = known();
    const call = observeCall(table, ENGINE, [{ kind: 'release', tags: [] }]);
    expect(state.control).toBe('asleep');
    call.failed();
    call.answered(200, OK);
    expect(state).toMatchObject({ control: 'active', released: [] });
  });

  it('opening waits for the answer', () => {
    const { table, state } = known();
    table.pause(ENGINE.baseUrl);
    table.release(ENGINE.baseUrl, []);
    const wake = observeCall(table, ENGINE, [{ kind: 'restore', tags: [] }]);
    expect(state.control).toBe('asleep');
    wake.answered(200, Buffer.alloc(0));
    expect(state.control).toBe('paused');
    observeCall(table, ENGINE, [{ kind: 'resume' }]).answered(500, OK);
    expect(state.control).toBe('paused');
    observeCall(table, ENGINE, [{ kind: 'resume' }]).answered(200, OK);
    expect(state.control).toBe('active');
  });

  it('a version counts once the engine agreed', () => {
    const { table, state } = known();
    observeCall(table, ENGINE, [{ kind: 'version', version: '2' }]).answered(200, NO);
    observeCall(table, ENGINE, [{ kind: 'version', version: '2' }]).answered(400, OK);
    expect(state.version?.text).toBe('1');
    observeCall(table, ENGINE, [{ kind: 'version', version: ' 2 ' }]).answered(200, OK);
    expect(state).toMatchObject({ version: { text: '2' }, source: 'passthrough' });
  });

  it.each<[ControlEffect, object]>([
    [{ kind: 'version', version: ' ' }, { reason: 'empty' }],
    [{ kind: 'version', version: 'a b' }, { reason: 'not_printable_ascii' }],
    [{ kind: 'version', version: 'x'.repeat(129) }, { reason: 'too_long' }],
    [
      { kind: 'unusable_version', found: 'array' },
      { reason: 'not_a_string_or_number', kind: 'array' },
    ],
  ])('%j is told, without its value, and keeps the version', (effect, told) => {
    const { table, state } = known();
    const refused: object[] = [];
    const tell = (one: object) => refused.push(one);
    observeCall(table, ENGINE, [effect], tell).answered(500, OK);
    expect(refused).toEqual([]);
    observeCall(table, ENGINE, [effect], tell).answered(200, OK);
    expect(refused).toEqual([told]);
    expect(state.version?.text).toBe('1');
  });

  it('an answer that comes after the engine was removed leaves no ghost', () => {
    const { table } = known();
    const call = observeCall(table, ENGINE, [PAUSE, { kind: 'version', version: '9' }]);
    table.remove(ENGINE.baseUrl);
    expect(call.answered(200, OK)).toBe(true);
    expect([table.size, table.latest('m')]).toEqual([0, undefined]);
  });

  it('calls that overlap are each settled on their own', () => {
    const { table, state } = known();
    const first = observeCall(table, ENGINE, [PAUSE]);
    const second = observeCall(table, ENGINE, [PAUSE]);
    second.failed();
    expect(state.control).toBe('paused');
    first.failed();
    expect(state.control).toBe('active');
  });
});
