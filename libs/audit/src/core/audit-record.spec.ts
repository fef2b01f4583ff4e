import fc from 'fast-check';
import { type AuditEntry } from '@smg/plugin-api';
import { renderAuditLogLine } from './audit-log-line';
import { renderAuditRecord } from './audit-record';

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5, 6);
const DENIED: AuditEntry = {
  kind: 'decision',
  principal: { id: 'unauthenticated', method: 'none', role: 'user' },
  httpMethod: 'GET',
  path: '/workers',
  outcome: 'denied',
};
const parse = (line: string): Record<string, unknown> =>
  JSON.parse(line) as Record<string, unknown>;

describe('renderAuditRecord', () => {
  it('writes what is known, in a fixed order', () => {
    const line = renderAuditRecord(
      {
        kind: 'action',
        principal: { id: 'ci', method: 'api_key', role: 'admin' },
        httpMethod: 'DELETE',
        path: '/workers/w1',
        route: '/workers/:id',
        resource: 'w1',
        outcome: 'success',
        status: 202,
        requestId: 'req-1',
        details: 'why',
      },
      NOW,
    );
    expect(line).toBe(
      '{"timestamp":"2026-01-02T03:04:05.006Z","kind":"action","principal":"ci",' +
        '"auth_method":"api_key","role":"admin","method":"DELETE","path":"/workers/w1",' +
        '"route":"/workers/:id","resource":"w1","outcome":"success","status":202,' +
        '"request_id":"req-1","details":"why"}\n',
    );
  });

  it('leaves out what is not known', () => {
    expect(Object.keys(parse(renderAuditRecord(DENIED, NOW)))).toEqual([
      ...['timestamp', 'kind', 'principal', 'auth_method', 'role', 'method', 'path', 'outcome'],
    ]);
  });

  it.each([
    ['/workers?token=canary', '/workers'],
    ['/workers#canary', '/workers'],
    ['/workers/http%3A%2F%2Fu%3Acanary%40h', '/workers/http%3A%2F%2F***%40h'],
  ])('path %s becomes %s', (path, shown) => {
    expect(parse(renderAuditRecord({ ...DENIED, path }, NOW))['path']).toBe(shown);
  });

  it('hides the password of a worker URL in the resource', () => {
    const line = renderAuditRecord({ ...DENIED, resource: 'http://u:canary@h:1' }, NOW);
    expect(parse(line)['resource']).toBe('http://***@h:1');
  });

  it('is one line with the members it should have, whatever the texts', () => {
    const text = fc.string({ unit: 'binary' });
    fc.assert(
      fc.property(text, text, text, text, (id, path, resource, details) => {
        const principal = { id, method: 'jwt', role: 'user' } as const;
        const line = renderAuditRecord({ ...DENIED, principal, path, resource, details }, NOW);
        expect(line.indexOf('\n')).toBe(line.length - 1);
        expect(parse(line)).toMatchObject({ kind: 'decision', role: 'user', outcome: 'denied' });
        expect(Object.keys(parse(line))).toHaveLength(10);
        expect(line.match(/"outcome":/g)?.length).toBe(1);
      }),
    );
  });
});

describe('renderAuditLogLine', () => {
  const record = renderAuditRecord(DENIED, NOW);

  it('is the record behind what every log line has', () => {
    const line = renderAuditLogLine({ record, now: NOW, level: 'info' });
    expect(parse(line)).toEqual({
      level: 'info',
      time: NOW,
      target: 'smg::audit',
      msg: 'control_plane_audit',
      ...parse(record),
    });
    expect(line.endsWith('}\n')).toBe(true);
  });

  it('says which sink lost the record', () => {
    const line = renderAuditLogLine({ record, now: NOW, level: 'error', lostBy: 'file' });
    expect(parse(line)).toMatchObject({
      level: 'error',
      lost_by: 'file',
      principal: 'unauthenticated',
    });
  });
});
