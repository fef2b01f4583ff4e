import { DEFAULT_CLASSES } from './priority-class';
import { readSchedulerPlan } from './scheduler-file';

const read = (text: string) => readSchedulerPlan(text, 's.yaml');
const BULK =
  'reserved_floor: 1, queue_size: 2, queue_timeout_secs: 3, starvation_threshold_secs: 4, can_preempt: true';
const bulk = (from: string, to: string): string => `classes: {bulk: {${BULK.replace(from, to)}}}`;

describe('readSchedulerPlan', () => {
  it('replaces the classes it names, and those alone', () => {
    const { classes, maxClassOf } = read(
      `classes: {bulk: {${BULK}, reserved_per_slot: 0.5}}\ntenant_policies:\n  auth:acme: {max_class: system}\n  "ip:::ffff:10.0.0.1": {max_class: bulk}\n`,
    );
    expect(classes).toEqual({
      ...DEFAULT_CLASSES,
      3: {
        reservedFloor: 1,
        reservedPerSlot: 0.5,
        queueSize: 2,
        queueTimeoutSecs: 3,
        starvationThresholdSecs: 4,
        canPreempt: true,
      },
    });
    expect([...maxClassOf]).toEqual([
      ['auth:acme', 0],
      ['ip:10.0.0.1', 3],
    ]);
  });

  it('keeps the classes without an entry for them, and reserves nothing per slot unless told', () => {
    expect(read('tenant_policies: {}').classes).toBe(DEFAULT_CLASSES);
    expect(read(`classes: {bulk: {${BULK}}}`).classes[3].reservedPerSlot).toBe(0);
  });

  it.each([
    ['', 's.yaml: the file is empty'],
    ['{}', 's.yaml:1:1: neither classes nor tenant_policies'],
    ['clases: {}', 's.yaml:1:1: unknown key "clases"'],
    ['classes: {urgent: {}}', 'unknown key "urgent"; classes may have system, interactive'],
    [bulk('can_preempt: true', 'can_preempt: yes'), 'can_preempt must be true or false'],
    [bulk(', can_preempt: true', ''), 'can_preempt is missing'],
    [bulk('reserved_floor: 1, ', ''), 'reserved_floor is missing'],
    [bulk('reserved_floor: 1', 'reserved_floor: -1'), 'reserved_floor must be a whole number'],
    [bulk('queue_size: 2', 'queue_size: 2.5'), 'queue_size must be a whole number'],
    [
      bulk('timeout_secs: 3', 'timeout_secs: 0'),
      'queue_timeout_secs must be a whole number from 1',
    ],
    [bulk('can_preempt: true', 'can_preempt: true, weight: 1'), 'unknown key "weight"'],
    [
      bulk('can_preempt: true', 'can_preempt: true, reserved_per_slot: 1.5'),
      'reserved_per_slot must be a number from 0 to 1',
    ],
    ['tenant_policies: {acme: {max_class: system}}', 'a tenant must be auth:<id>'],
    ['tenant_policies: {auth:a: {max_class: System}}', 'max_class must be one of system'],
    ['tenant_policies: {auth:a: {}}', 'max_class is missing'],
    ['tenant_policies: {auth:a: }', 'a tenant policy must be a map'],
    ['tenant_policies: {5: {max_class: bulk}}', 'a tenant must be a string'],
    [
      'tenant_policies: {"ip:10.0.0.1": {max_class: bulk}, "ip:::ffff:10.0.0.1": {max_class: bulk}}',
      'the tenant "ip:10.0.0.1" is there already',
    ],
    ['tenant_policies: {auth:a: {max_class: bulk}, auth:a: {max_class: bulk}}', 'there already'],
  ])('refuses %j', (text, message) => {
    expect(() => read(text)).toThrow(message);
  });

  it('a queue nobody may enter needs no time', () => {
    const text = bulk(
      'queue_size: 2, queue_timeout_secs: 3',
      'queue_size: 0, queue_timeout_secs: 0',
    );
    expect(read(text).classes[3]).toMatchObject({ queueSize: 0, queueTimeoutSecs: 0 });
  });
});
