import { type FleetReport } from '@smg/plugin-api';
import { fleetStatus, mergedMembers } from './fleet-status';

type Told = [status: number, body?: unknown, agrees?: boolean];

function report(answers: readonly Told[], silent: readonly string[] = []): FleetReport {
  return {
    total: answers.length + silent.length,
    answers: answers.map(([status, body, agrees = status < 300], at) => ({
      workerId: `w${at}`,
      url: `http://e${at}`,
      status,
      body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body ?? {})),
      agrees,
    })),
    silent: silent.map((error) => ({ url: 'http://s', error })),
    render: () => '',
  };
}

describe('fleetStatus', () => {
  it.each<[number, Told[], string[]]>([
    [200, [[200], [204]], []],
    [400, [[200], [400]], []],
    [404, [[404], [404]], []],
    [502, [[404], [400]], []],
    [502, [[200, {}, false]], []],
    [502, [[302]], []],
    [504, [[200]], ['upstream_timeout']],
    [502, [[200]], ['upstream_unreachable']],
    [502, [[200]], ['upstream_timeout', 'upstream_unreachable']],
    [502, [[500]], ['upstream_timeout']],
    [422, [[200], [422], [422]], []],
  ])('%i', (status, answers, silent) => {
    expect(fleetStatus(report(answers, silent))).toBe(status);
  });
});

describe('mergedMembers', () => {
  const merged = (...bodies: unknown[]): object =>
    mergedMembers(report(bodies.map((body) => [200, body])));

  it('sums worlds', () => {
    expect(merged({ world_size: 2 }, { world_size: 4 })).toEqual({ world_size: 6 });
  });

  it('all are paused, or the fleet is not', () => {
    expect(merged({ is_paused: true }, { is_paused: true })).toEqual({ is_paused: true });
    expect(merged({ is_paused: true }, { is_paused: false })).toEqual({ is_paused: false });
    expect(merged({ is_sleeping: false })).toEqual({ is_sleeping: false });
  });

  it('one version, or none', () => {
    expect(merged({ weight_version: '7' }, { weight_version: '7' })).toEqual({
      weight_version: '7',
    });
    expect(merged({ weight_version: '7' }, { weight_version: '8' })).toEqual({
      weight_version: null,
    });
  });

  it('says nothing where an engine did not say it', () => {
    expect(merged({ world_size: 2 }, {})).toEqual({});
    expect(merged({ world_size: 2 }, 'not json')).toEqual({});
    expect(merged({ world_size: 2 }, [1])).toEqual({});
    expect(mergedMembers(report([[200, { is_paused: true }]], ['upstream_timeout']))).toEqual({});
    expect(merged()).toEqual({});
  });
});
