import { MockEngine, MockIdp, type MockIdpKey } from '@smg/testing';
import { type PartialGatewayConfig } from '../../src';
import { codeSpans, splitFences, tableRows, textOf } from '../contract/support/pages';
import { startGateway } from '../support/gateway';
import { send } from '../support/http';
import { freePorts, startProgram } from '../support/program';
import { GuideShell, patternOf, stepsOf } from './support/guide-shell';

const PAGE = textOf('docs/guides/control-plane-auth.md');

/** Text below one heading of any level, up to the next of the same or a higher one. */
function sectionOf(heading: string): string {
  const [, marks = '', rest = ''] =
    new RegExp(`^(#+) ${heading}\n([\\s\\S]*)`, 'm').exec(PAGE) ?? [];
  if (marks === '') throw new Error(`no section ${heading}`);
  return rest.split(new RegExp(`^#{1,${marks.length}} `, 'm'))[0] ?? '';
}

describe('the walk-through of docs/guides/control-plane-auth.md', () => {
  it('prints what the page says', async () => {
    const ports = new Map(
      (await freePorts(4)).map((port, index) => [
        ['30000', '29000', '31001', '9100'][index] ?? '',
        String(port),
      ]),
    );
    const here = (text: string): string =>
      text.replaceAll(/\b(?:30000|29000|31001|9100)\b/g, (port) => ports.get(port) ?? port);
    const steps = stepsOf(sectionOf('Walk-through'));
    expect(steps.length).toBeGreaterThan(8);
    const shell = new GuideShell(90_000);
    try {
      for (const { command, expected } of steps) {
        const printed = await shell.run(here(command));
        expect({ command, printed }).toEqual({
          command,
          printed: expect.stringMatching(patternOf(here(expected))),
        });
      }
      expect(shell.errors).not.toMatch(/error|warning|not found/i);
    } finally {
      shell.close();
    }
  }, 100_000);
});

describe('the set-ups of the page', () => {
  const SHARED = { apiKey: 'shared' };
  const TENANTS = { tenantApiKeys: [{ tenantId: 'acme', key: 'tenant' }] };
  const CONTROL = {
    controlPlaneApiKeys: [
      { id: 'a', name: 'A', role: 'admin', key: 'admin' },
      { id: 'u', name: 'U', role: 'user', key: 'user' },
    ],
  } as const;
  /** In the order of the table, with what the start says. */
  const SETUPS: readonly [NonNullable<PartialGatewayConfig['auth']>, RegExp | undefined][] = [
    [{}, /the serving plane and the control plane are open/],
    [{ ...SHARED, ...TENANTS }, undefined],
    [TENANTS, /the control plane refuses everyone/],
    [{ ...SHARED, ...TENANTS, ...CONTROL }, undefined],
  ];
  const [head = [], , ...rows] = tableRows(sectionOf('Choose a set-up')).filter(
    (row) => row.length === 6,
  );

  it.each(SETUPS.map((setup, index) => [rows[index]?.[0] ?? '', index, ...setup] as const))(
    '%s',
    async (_name, index, auth, warning) => {
      const gateway = await startGateway({ auth });
      try {
        const answers = [];
        for (const caller of head.slice(1)) {
          const headers = { authorization: `Bearer ${caller.split(' ')[0] ?? ''}` };
          const answer = await send(
            `${gateway.url}/workers`,
            caller === 'nothing' ? {} : { headers },
          );
          answers.push(String(answer.status));
        }
        expect(answers).toEqual(rows[index]?.slice(1));
        const warnings = gateway.logs.filter(
          ({ level, target }) => level === 'warn' && target === 'smg::auth',
        );
        expect(warnings.map(({ msg }) => msg)).toEqual(
          warning === undefined ? [] : [expect.stringMatching(warning)],
        );
        if (warning !== undefined) expect(PAGE).toMatch(warning);
      } finally {
        await gateway.close();
      }
    },
  );
});

describe('the providers of the page', () => {
  let idp: MockIdp;
  let key: MockIdpKey;
  let engine: MockEngine;
  beforeAll(async () => {
    idp = await new MockIdp().start();
    key = await idp.addKey('k1', 'RS256');
    engine = await new MockEngine().start();
  });
  afterAll(async () => {
    await idp.stop();
    await engine.stop();
  });

  const PROVIDERS = [...sectionOf('Your provider').matchAll(/^### (.+)$/gm)].map(
    ([, heading = '']) => heading,
  );

  it('are there', () => {
    expect(PROVIDERS).toHaveLength(6);
  });

  it.each(PROVIDERS)(
    '%s: the flags make the token an admin, and nobody else',
    async (heading) => {
      const { blocks } = splitFences(sectionOf(heading));
      const [command = '', json = ''] = blocks;
      const claims = JSON.parse(json) as Record<string, unknown>;
      const flags = [...command.replaceAll('\\\n', ' ').matchAll(/"([^"]*)"|(\S+)/g)]
        .map(([, quoted, bare]) => quoted ?? bare ?? '')
        .slice(2);
      const mapped = /--jwt-role-mapping "?(.+?)=admin/.exec(command)?.[1] ?? '';
      // The issuer itself is not there; where its keys are is given, as behind a forwarder.
      const at = flags.indexOf('--jwt-jwks-uri');
      if (at >= 0) flags.splice(at, 2);
      const program = await startProgram([...flags, '--jwt-jwks-uri', idp.jwksUri]);
      try {
        const exp = Math.floor(Date.now() / 1000) + 60;
        const other = JSON.parse(json.replace(mapped, 'somebody')) as Record<string, unknown>;
        const statusOf = async (content: object): Promise<number> => {
          const headers = { authorization: `Bearer ${key.token({ exp, ...content })}` };
          return (await send(`${program.url}/workers`, { headers })).status;
        };
        expect(await statusOf(claims)).toBe(200);
        expect(await statusOf(other)).toBe(403);
        expect(await statusOf({ ...claims, iss: `${String(claims['iss'])}/` })).toBe(401);
        expect(await statusOf({ ...claims, aud: 'account' })).toBe(401);
      } finally {
        await program.kill();
      }
    },
    30_000,
  );

  it('the word admin counts in the usual claims, unless it is mapped', async () => {
    const jwt = { jwtIssuer: idp.issuer, jwtAudience: 'smg', jwtRoleClaim: 'realm_access.roles' };
    const exp = Math.floor(Date.now() / 1000) + 60;
    const token = key.token({ iss: idp.issuer, aud: 'smg', exp, groups: ['admin'] });
    for (const [jwtRoleMapping, status] of [
      [[{ idpRole: 'gpu-operators', role: 'admin' }], 200],
      [[{ idpRole: 'admin', role: 'user' }], 403],
    ] as const) {
      const gateway = await startGateway({ auth: { ...jwt, jwtRoleMapping } });
      const headers = { authorization: `Bearer ${token}` };
      const answer = await send(`${gateway.url}/workers`, { headers });
      await gateway.close();
      expect(answer.status).toBe(status);
    }
  });
});

describe('the troubleshooting of the page', () => {
  it('has every reason with its text', () => {
    const source = textOf('libs/auth/src/core/refusal-reasons.ts');
    const texts = [...source.matchAll(/^ {2}(jwt_\w+): '(.+)',$/gm)].map((match) => [
      match[2],
      match[1],
    ]);
    expect(texts.length).toBeGreaterThan(10);
    const rows = tableRows(sectionOf('Troubleshooting')).map(([text = '', reason = '']) => [
      text.replaceAll('`', ''),
      reason.replaceAll('`', ''),
    ]);
    expect(rows).toEqual(expect.arrayContaining(texts));
    const others = [...source.matchAll(/^ {2}\| '(\w+)'/gm)].map((match) => match[1]);
    expect(rows.map(([, reason]) => reason)).toEqual(expect.arrayContaining(others));
  });

  it('quotes what the start says', () => {
    const source = ['core/remote-address', 'jwks.source', 'guarded-fetch']
      .map((name) => textOf(`libs/auth/src/${name}.ts`))
      .join('\n');
    const [, table = ''] = sectionOf('Troubleshooting').split(/^At the start.*$/m);
    const quoted = tableRows(table)
      .flatMap(([cell = '']) => codeSpans(cell))
      // Codes of the system, and a number that is put in.
      .filter((text) => !/[A-Z_]{8}|\d ms/.test(text));
    expect(quoted.length).toBeGreaterThan(4);
    expect(quoted.filter((text) => !source.includes(text))).toEqual([]);
  });

  it('docs/security-model.md quotes the warnings of the start', () => {
    const source = ['core/exposure', 'key-files']
      .map((name) => textOf(`libs/auth/src/${name}.ts`))
      .join('\n');
    const [, table = ''] = textOf('docs/security-model.md').split('## Open until you close it');
    const quoted = tableRows(table.split('\n## ')[0] ?? '').flatMap(([, cell = '']) =>
      codeSpans(cell),
    );
    expect(quoted.length).toBeGreaterThan(2);
    expect(quoted.filter((text) => !source.includes(text))).toEqual([]);
  });
});
