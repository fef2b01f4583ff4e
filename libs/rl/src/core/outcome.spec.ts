import { MAX_OUTCOME_BYTES, renderOutcome } from './outcome';

const render = (body: Buffer | string, contentType?: string, truncated = false): string =>
  renderOutcome({
    workerId: 'id-1',
    url: 'http://a:1@0',
    status: 200,
    latencyMs: 12.9,
    body: Buffer.from(body as string),
    contentType,
    truncated,
  });

describe('renderOutcome', () => {
  it('is the envelope of the contract', () => {
    expect(JSON.parse(render('{"success":true}', 'application/json'))).toEqual({
      worker_id: 'id-1',
      url: 'http://a:1@0',
      status: 200,
      latency_ms: 12,
      body: { success: true },
    });
  });

  it('JSON goes through as it was written', () => {
    const body = '{"seed":18446744073709551615,\n"v":7.0}';
    expect(render(body, 'application/json; charset=utf-8')).toContain(`"body":${body}}`);
  });

  it.each([
    ['text', 'text/plain', '{"a":1}', '{"a":1}'],
    ['no type', undefined, '{"a":1}', '{"a":1}'],
    ['JSON that does not parse', 'application/json', '{"a":', '{"a":'],
    ['nothing', 'application/json', '', ''],
    ['two documents', 'application/json', '1 2', '1 2'],
  ])('%s is a string', (_title, type, body, expected) => {
    expect(JSON.parse(render(body, type))).toMatchObject({ body: expected });
  });

  it('bytes that are no UTF-8 are replaced, in JSON too', () => {
    const bytes = Buffer.concat([Buffer.from('"a'), Buffer.from([0xff]), Buffer.from('"')]);
    expect(JSON.parse(render(bytes as unknown as string, 'application/json'))).toMatchObject({
      body: '"a\ufffd"',
    });
  });

  it('a body of exactly the limit is whole; one byte more is a cut string', () => {
    const json = `"${'x'.repeat(MAX_OUTCOME_BYTES - 2)}"`;
    const whole = JSON.parse(render(json, 'application/json'));
    expect(whole.body).toHaveLength(MAX_OUTCOME_BYTES - 2);
    expect('body_truncated' in whole).toBe(false);
    const cut = JSON.parse(render(`${json} `, 'application/json'));
    expect(cut.body).toHaveLength(MAX_OUTCOME_BYTES);
    expect(cut.body_truncated).toBe(true);
  });

  it('a body the caller cut is a string even if it parses', () => {
    expect(JSON.parse(render('12', 'application/json', true))).toMatchObject({
      body: '12',
      body_truncated: true,
    });
  });
});
