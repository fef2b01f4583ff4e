import { type EngineCapabilities } from '@smg/plugin-api';
import { capabilitiesOf } from './capabilities';

const KNOWN: EngineCapabilities = {
  pauseModes: ['abort', 'wait'],
  updateFrom: ['disk'],
  abort: true,
  flushCache: true,
  sleepWake: false,
  reportsWeightVersion: true,
};
const of = (labels: Record<string, string>, known?: EngineCapabilities) =>
  capabilitiesOf(known, new Map(Object.entries(labels)));

describe('capabilitiesOf', () => {
  it('without labels it is what the adapter says', () => {
    expect(of({ role: 'policy' }, KNOWN)).toEqual({
      source: 'static',
      pause_modes: ['abort', 'wait'],
      update_from: ['disk'],
      abort: true,
      flush_cache: true,
      sleep_wake: false,
      reports_weight_version: true,
    });
  });

  it('an engine of which nothing is known offers nothing', () => {
    expect(of({})).toEqual({
      source: 'static',
      pause_modes: [],
      update_from: [],
      abort: false,
      flush_cache: false,
      sleep_wake: false,
      reports_weight_version: false,
    });
  });

  it.each([
    ['true', true],
    [' TRUE ', true],
    ['True', true],
    ['yes', false],
    ['1', false],
    ['', false],
  ])('rl.sleep_wake=%j is %s', (value, expected) => {
    expect(of({ 'rl.sleep_wake': value }, KNOWN)).toMatchObject({
      source: 'label',
      sleep_wake: expected,
      abort: true,
    });
  });

  it('lists are trimmed, empty pieces dropped, the rest of the row kept', () => {
    expect(of({ 'rl.pause_modes': ' abort ,, keep ', 'rl.update_from': '' }, KNOWN)).toMatchObject({
      source: 'label',
      pause_modes: ['abort', 'keep'],
      update_from: [],
      flush_cache: true,
    });
  });

  it('a label that says the same is still a label', () => {
    expect(of({ 'rl.abort': 'true' }, KNOWN).source).toBe('label');
  });
});
