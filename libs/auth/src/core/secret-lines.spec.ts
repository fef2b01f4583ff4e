import { parseControlLine, parseSharedLine, parseTenantLine, secretLines } from './secret-lines';

describe('lines of a key file', () => {
  it('are entries, but for blank lines and comments; numbers count every line', () => {
    const content = '\uFEFF# keys\r\n\r\n a:b \n\t# more\nc:#d\n   \n';
    expect(secretLines(content)).toEqual([
      { number: 3, text: ' a:b ' },
      { number: 5, text: 'c:#d' },
    ]);
  });

  it('a file of nothing has none', () => {
    for (const content of ['', '\n\n', '# only\n#comments', ' \t\r\n']) {
      expect(secretLines(content)).toEqual([]);
    }
  });
});

describe('a tenant line', () => {
  it('is split at the first colon', () => {
    expect(parseTenantLine('a b:k:e:y')).toEqual({ value: { tenantId: 'a b', key: 'k:e:y' } });
  });

  it.each([
    'canary',
    ':canary',
    ' canary:canary',
    'canary :canary',
    'canary:',
    'canary: canary',
    'canary:canary ',
    'canary:***',
    'canary:can\u00e4ry',
    'canary:\u0007',
  ])('%j is refused without being repeated', (line) => {
    const parsed = parseTenantLine(line);
    expect(parsed).toHaveProperty('problem');
    expect(JSON.stringify(parsed)).not.toMatch(/canary/);
  });
});

describe('a control-plane line', () => {
  it('is split at the first three colons; the role has no case, the name may be empty', () => {
    expect(parseControlLine('ops:The Ops:ADMIN:k:e:y')).toEqual({
      value: { id: 'ops', name: 'The Ops', role: 'admin', key: 'k:e:y' },
    });
    expect(parseControlLine('eyes::user:key')).toEqual({
      value: { id: 'eyes', name: '', role: 'user', key: 'key' },
    });
  });

  it.each([
    'canary',
    'canary:canary',
    'canary:canary:admin',
    ':canary:admin:canary',
    ' canary:canary:admin:canary',
    'canary:canary:root:canary',
    'canary:canary::canary',
    'canary:canary:admin:',
    'canary:canary:admin: canary',
  ])('%j is refused without being repeated', (line) => {
    const parsed = parseControlLine(line);
    expect(parsed).toHaveProperty('problem');
    expect(JSON.stringify(parsed)).not.toMatch(/canary/);
  });
});

describe('a shared key', () => {
  it('is the whole line', () => {
    expect(parseSharedLine('k:e y')).toEqual({ value: 'k:e y' });
    expect(parseSharedLine(' canary')).toHaveProperty('problem');
  });
});
