import { isMixed, mayBeMixed, type MixedQuestion } from './mixed-version';
import { parseVersion } from './weight-version';

const SPANS = '[{"version":"41","start":0,"end":3},{"version":"42","start":3,"end":9}]';
const ONE = '[{"version":"42","start":0,"end":9}]';

function ask(body: string, stamped?: string, more: Partial<MixedQuestion> = {}): boolean {
  return isMixed({
    isGenerate: true,
    body: Buffer.from(body),
    contentType: 'application/json; charset=utf-8',
    stamped: stamped === undefined ? undefined : parseVersion(stamped),
    drifted: false,
    ...more,
  });
}

const meta = (inner: string) => `{"text":"x","meta_info":{${inner}}}`;
const two = meta(`"weight_versions":${SPANS},"weight_version":"42"`);
const one = meta(`"weight_versions":${ONE},"weight_version":"42"`);

describe('what the engine says on /generate', () => {
  it.each<[string, string, string | undefined, boolean]>([
    ['two spans', two, undefined, true],
    ['two spans', two, '42', true],
    ['one span', one, undefined, false],
    ['one span', one, '42', false],
    ['one span', one, '042', false],
    ['one span', one, '41', true],
    ['default, not stamped', meta('"weight_version":"default"'), undefined, false],
    ['default, stamped', meta('"weight_version":"default"'), '3', true],
    ['a number', meta('"weight_version":42'), '42', false],
    ['a number', meta('"weight_version":42'), '43', true],
    ['a number JSON cannot hold', meta('"weight_version":18446744073709551615'), '1', false],
    ['a blank', meta('"weight_version":"  "'), '3', false],
    ['null members', meta('"weight_version":null,"weight_versions":null'), '3', false],
    ['a clean item and a mixed one', `[${one},${two}]`, '42', true],
    ['clean items', ` \n[${one},${one}]`, '42', false],
    ['an empty list', '[]', '1', false],
    ['spans that are no list', meta('"weight_versions":"a","weight_version":"9"'), '1', false],
    ['a broken item beside a mixed one', `[${two},{"meta_info":7}]`, '42', false],
    ['an item that is no object', `[${two},7]`, '42', false],
    ['no meta', '{"text":"no meta"}', '1', false],
    ['null meta', '{"meta_info":null,"weight_version":"9"}', '1', false],
    ['no JSON', 'not json', '1', false],
    ['half of it', two.slice(0, -1), '42', false],
    ['nothing', '', '1', false],
    ['metadata is not the native report', '{"metadata":{"weight_version":"9"}}', '1', false],
  ])('%s: %s stamped %s', (_title, body, stamped, expected) => {
    expect(ask(body, stamped)).toBe(expected);
  });

  it('counts for JSON only', () => {
    expect(ask(two, '42', { contentType: 'text/plain' })).toBe(false);
    expect(ask(two, '42', { contentType: undefined })).toBe(false);
    expect(ask(two, '42', { contentType: 'application/problem+JSON' })).toBe(true);
  });
});

describe('a version that changed between dispatch and answer', () => {
  const drift = { drifted: true, isGenerate: false };

  it('marks an answer whose engine says nothing', () => {
    expect(ask('{"choices":[]}', '42', drift)).toBe(true);
    expect(ask('', '42', drift)).toBe(true);
    expect(ask('{"choices":[]}', '42', { drifted: true })).toBe(true);
    expect(ask('{"choices":[]}', '42', { isGenerate: false })).toBe(false);
  });

  it('is outweighed by what the engine says itself', () => {
    expect(ask('{"metadata":{"weight_version":"42"}}', '42', drift)).toBe(false);
    expect(ask(meta('"weight_version":"42"'), '42', drift)).toBe(false);
    expect(ask(one, '42', { drifted: true })).toBe(false);
    expect(ask(one, '43', { drifted: true })).toBe(true);
  });

  it('the text of a prompt is no report', () => {
    expect(ask('{"choices":[{"text":"\\"weight_version\\": 3"}]}', '42', drift)).toBe(true);
  });

  it('two spans outside /generate are not this rule', () => {
    expect(ask(two, '42', { isGenerate: false })).toBe(false);
  });
});

it('bodies are asked for only where they can matter', () => {
  expect(mayBeMixed(200, true, false)).toBe(true);
  expect(mayBeMixed(299, false, true)).toBe(true);
  expect(mayBeMixed(200, false, false)).toBe(false);
  expect(mayBeMixed(400, true, true)).toBe(false);
});
