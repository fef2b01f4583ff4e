import { readTenantLimits } from './tenant-limits-file';

const read = (text: string) => readTenantLimits(text, 'limits.yaml');
const lines = (...parts: string[]) => `${parts.join('\n')}\n`;
const tenants = (...parts: string[]) => lines('tenants:', ...parts.map((part) => `  ${part}`));

describe('readTenantLimits', () => {
  it('reads a default and tenants with rules', () => {
    const limits = read(
      lines(
        '# comments are fine',
        'default_policy:',
        '  requests_per_minute: 60',
        'tenants:',
        '  - tenant_key: auth:acme',
        '    tokens_per_minute: 4294967295',
        '    model_rules:',
        '      - rule_id: big.models_1-a',
        '        matcher: { type: prefix, value: "llama-70" }',
        '        requests_per_minute: 0',
        '        tokens_per_minute: 7',
        '  - tenant_key: "ip:::ffff:10.0.0.1"',
      ),
    );
    expect(limits.policyOf('header:stranger')).toEqual({
      limits: [{ unit: 'requests', perMinute: 60 }],
    });
    const rule = { ruleId: 'big.models_1-a', matcher: { type: 'prefix', value: 'llama-70' } };
    expect(limits.policyOf('auth:acme')).toEqual({
      limits: [
        { unit: 'tokens', perMinute: 4_294_967_295 },
        { unit: 'tokens', perMinute: 7, ...rule },
        { unit: 'requests', perMinute: 0, ...rule },
      ],
    });
    // A policy of its own replaces the default, an empty one included.
    expect(limits.policyOf('ip:10.0.0.1')).toEqual({ limits: [] });
    expect(limits.count).toBe(2);
  });

  it('limits nobody else without a default', () => {
    const limits = read(tenants('- tenant_key: auth:a'));
    expect(limits.policyOf('auth:b')).toBeUndefined();
  });

  const RULE = '  - tenant_key: auth:a\n    model_rules:\n';
  it.each([
    ['', 'limits.yaml: the file is empty'],
    ['# nothing\n', 'limits.yaml: the file is empty'],
    ['{}', '1:1: neither default_policy nor tenants'],
    ['[]', '1:1: the file must be a map'],
    ['text', '1:1: the file must be a map'],
    ['default_policy:\n', '1:16: default_policy must be a map'],
    ['default_policy: 5\n', '1:17: default_policy must be a map'],
    ['default_policy: {}\nextra: 1\n', '2:1: unknown key "extra"'],
    ['default_policy: {}\ndefault_policy: {}\n', '2:1: the key is there already'],
    ['default_policy: {requests_per_minute: 1, requests_per_minute: 2}\n', 'there already'],
    ['default_policy:\n  request_per_minute: 1\n', '2:3: unknown key "request_per_minute"'],
    ['default_policy:\n  <<: {requests_per_minute: 1}\n', '2:3: unknown key "<<"'],
    ['default_policy:\n  ? [a]\n  : 1\n', '2:5: unknown key ""'],
    ['default_policy:\n  tenant_key: auth:a\n', '2:3: unknown key "tenant_key"'],
    ['default_policy:\n  requests_per_minute:\n', 'must be a whole number'],
    ['default_policy:\n  requests_per_minute: -1\n', '2:24: requests_per_minute must be a whole'],
    ['default_policy:\n  requests_per_minute: 1.5\n', 'must be a whole number'],
    ['default_policy:\n  requests_per_minute: 1e3\n', 'must be a whole number'],
    ['default_policy:\n  requests_per_minute: 0x10\n', 'must be a whole number'],
    ['default_policy:\n  requests_per_minute: "5"\n', 'must be a whole number'],
    ['default_policy:\n  requests_per_minute: .inf\n', 'must be a whole number'],
    ['default_policy:\n  requests_per_minute: true\n', 'must be a whole number'],
    ['default_policy:\n  tokens_per_minute: 4294967296\n', 'from 0 to 4294967295'],
    ['tenants: {}\n', '1:10: tenants must be a list'],
    ['tenants:\n  - auth:a\n', '2:5: a tenant must be a map'],
    ['tenants:\n  - requests_per_minute: 1\n', '2:5: tenant_key is missing'],
    ['tenants:\n  - tenant_key: acme\n', '2:17: tenant_key must be auth:<id>'],
    ['tenants:\n  - tenant_key: 5\n', '2:17: tenant_key must be a string'],
    [tenants('- tenant_key: auth:a', '- tenant_key: auth:a'), '3:17: the tenant "auth:a" is'],
    [tenants('- tenant_key: ip:::1', '- tenant_key: ip:0::1'), '3:17: the tenant "ip:::1" is'],
    [`tenants:\n${RULE}    - x\n`, 'a model rule must be a map'],
    [`tenants:\n${RULE}      - rule_id: a\n        requests_per_minute: 1\n`, 'matcher is missing'],
    [`tenants:\n${RULE}      - matcher: {type: exact, value: a}\n`, 'rule_id is missing'],
    [
      `tenants:\n${RULE}      - {rule_id: a, matcher: {type: exact, value: a}}\n`,
      'a model rule needs tokens_per_minute or requests_per_minute',
    ],
    [
      `tenants:\n${RULE}      - {rule_id: "a b", matcher: {type: exact, value: a}, requests_per_minute: 1}\n`,
      'rule_id must consist of',
    ],
    [
      `tenants:\n${RULE}      - {rule_id: a, matcher: {type: regex, value: a}, requests_per_minute: 1}\n`,
      'type must be exact or prefix',
    ],
    [
      `tenants:\n${RULE}      - {rule_id: a, matcher: {type: prefix, value: ""}, requests_per_minute: 1}\n`,
      'value is empty',
    ],
    [
      `tenants:\n${RULE}${'      - {rule_id: a, matcher: {type: exact, value: a}, requests_per_minute: 1}\n'.repeat(2)}`,
      '5:19: the rule_id "a" is there already',
    ],
    [
      'default_policy: &p {requests_per_minute: 1}\ntenants: [*p]\n',
      '2:11: a tenant must be a map',
    ],
    ['default_policy: !x {requests_per_minute: 1}\n', '1:17: Unresolved tag: !x'],
    ['default_policy: {\n', 'limits.yaml:2:1: '],
    ['default_policy: {}\n---\ntenants: []\n', 'multiple documents'],
    ['\tdefault_policy: {}\n', '1:1: Tabs are not allowed'],
  ])('refuses %j', (text, message) => {
    expect(() => read(text)).toThrow(message);
    expect(() => read(text)).toThrow(/^limits\.yaml(:\d+:\d+)?: [^\n]+$/);
  });

  it('refuses bombs: aliases of aliases, deep nesting, size, too many entries', () => {
    const laughs = ['a0: &a0 [x]'];
    for (let i = 1; i < 12; i += 1) {
      laughs.push(
        `a${i}: &a${i} [${Array(10)
          .fill(`*a${i - 1}`)
          .join(', ')}]`,
      );
    }
    expect(() => read(lines(...laughs))).toThrow('1:1: unknown key "a0"');
    expect(() => read('['.repeat(100_000))).toThrow(/^limits\.yaml:/);
    expect(() => read(`# ${'x'.repeat(1024 * 1024)}\n`)).toThrow('larger than 1048576 bytes');
    const rule = '{rule_id: a, matcher: {type: exact, value: a}, requests_per_minute: 1}';
    expect(() =>
      read(lines('default_policy:', `  model_rules: [${Array(65).fill(rule).join(', ')}]`)),
    ).toThrow('2:16: model_rules has more than 64 entries');
  });
});
