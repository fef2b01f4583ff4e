import fc from 'fast-check';
import { redactUri } from '@smg/protocol';
import { type RequestRecord } from '@smg/plugin-api';
import { accessLevel, renderAccessLine } from './access-line';

const RECORD: RequestRecord = {
  method: 'POST',
  route: '/v1/chat/completions',
  url: '/v1/chat/completions',
  status: 200,
  durationMs: 1.5,
  requestId: 'chatcmpl-1',
};

const parsed = (record: Partial<RequestRecord>) => {
  const full = { ...RECORD, ...record };
  const line = renderAccessLine(full, accessLevel(full), 1000);
  expect(line.endsWith('}\n')).toBe(true);
  return JSON.parse(line) as Record<string, unknown>;
};

describe('renderAccessLine', () => {
  it('has every field in its place', () => {
    expect(
      parsed({
        status: 502,
        errorCode: 'call_upstream_request_error',
        worker: 'http://w:1@2',
        model: 'm',
        attempts: 3,
        clientGone: true,
        truncated: true,
      }),
    ).toEqual({
      level: 'error',
      time: 1000,
      target: 'smg::response',
      msg: 'request failed with server error',
      method: 'POST',
      route: '/v1/chat/completions',
      uri: '/v1/chat/completions',
      status_code: 502,
      latency_us: 1500,
      request_id: 'chatcmpl-1',
      error_code: 'call_upstream_request_error',
      worker: 'http://w:1@2',
      model: 'm',
      attempts: 3,
      client_gone: true,
      truncated: true,
    });
  });

  it.each<[Partial<RequestRecord>, string, string]>([
    [{ status: 200 }, 'info', 'finished processing request'],
    [{ status: 302 }, 'info', 'finished processing request'],
    [{ status: 404 }, 'warn', 'request failed with client error'],
    [{ status: 499, clientGone: true }, 'warn', 'request failed with client error'],
    [{ status: 503 }, 'error', 'request failed with server error'],
    [{ truncated: true }, 'error', 'response stream failed after the head was sent'],
    [{ truncated: true, clientGone: true }, 'info', 'finished processing request'],
    [{ route: '/readiness', status: 503 }, 'debug', 'finished probe request'],
    [{ route: '/health' }, 'debug', 'finished probe request'],
  ])('%j is %s: %s', (record, level, msg) => {
    expect(parsed(record)).toMatchObject({ level, msg });
  });

  it('stays one JSON line, and printable, whatever a client sends', () => {
    const hostile = fc.string({ unit: 'binary', maxLength: 40 });
    fc.assert(
      fc.property(hostile, hostile, hostile, (url, requestId, model) => {
        const line = renderAccessLine({ ...RECORD, url, requestId, model }, 'info', 1);
        expect(line.indexOf('\n')).toBe(line.length - 1);
        expect(line.slice(0, -1)).not.toMatch(/[\0-\x1f\x7f-\x9f\u2028\u2029]/);
        // A lone surrogate does not survive the way through UTF-8.
        expect(Buffer.from(line, 'utf8').toString('utf8')).toBe(line);
        const fields = JSON.parse(line) as Record<string, unknown>;
        expect(fields['uri']).toBe(redactUri(url));
        expect(fields['request_id']).toBe(requestId);
        expect(fields['model']).toBe(model);
      }),
    );
  });

  it('escapes quotes, breaks, terminal controls and lone surrogates', () => {
    const url = '/"\\\r\n\u001b[31m\u009b\u2028\ud800x';
    expect(parsed({ url })['uri']).toBe(url);
  });

  it('caps what a client can make it write', () => {
    const long = 'x'.repeat(100_000);
    const line = renderAccessLine(
      { ...RECORD, url: long, requestId: long, model: long, worker: long, method: long },
      'info',
      1,
    );
    expect(line.length).toBeLessThan(4000);
    expect((JSON.parse(line) as { uri: string }).uri).toBe(`${'x'.repeat(2048)}...[TRUNCATED]`);
  });
});
