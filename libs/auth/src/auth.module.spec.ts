import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { Controller, Get, Global, type LoggerService, Module, Post } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import {
  AUDIT_LOG,
  type AuditEntry,
  type AuditLog,
  ControlPlane,
  DataPlane,
  principalOf,
  Public,
} from '@smg/plugin-api';
import { type AuthOptions } from './core/auth-options';
import { AuthModule } from './auth.module';
import { PlaneGate } from './plane-gate';

@Controller()
@ControlPlane()
class RoutesController {
  @Get('admin')
  admin(): string {
    return 'admin';
  }

  @Post('serve')
  @DataPlane()
  serve(): string {
    return 'served';
  }

  @Get('probe')
  @Public()
  probe(): string {
    return 'probe';
  }
}

@Controller('stray')
class StrayController {
  @Get('one')
  unclassified(): string {
    return 'x';
  }

  notARoute(): string {
    return 'x';
  }
}

@Module({ controllers: [StrayController] })
class StrayPlugin {}

class Recorder implements LoggerService {
  readonly lines: string[] = [];
  readonly log = (...parts: unknown[]): void => {
    this.lines.push(parts.map(String).join(' '));
  };
  readonly warn = this.log;
  readonly error = this.log;
  readonly debug = this.log;
}

/** An audit log that a test can look into and fill up. */
class Ledger implements AuditLog {
  isOn = true;
  isRequired = false;
  isFull = false;
  readonly entries: AuditEntry[] = [];

  record(entry: AuditEntry): Promise<boolean> {
    this.entries.push(entry);
    return Promise.resolve(!this.isFull);
  }
}

const ledger = { current: new Ledger() };

@Global()
@Module({
  providers: [{ provide: AUDIT_LOG, useFactory: () => ledger.current }],
  exports: [AUDIT_LOG],
})
class LedgerModule {}

let app: NestFastifyApplication | undefined;

async function boot(options: AuthOptions, imports: (typeof StrayPlugin)[] = []) {
  const recorder = new Recorder();
  ledger.current = new Ledger();
  const module = await Test.createTestingModule({
    imports: [LedgerModule, AuthModule.forRoot(options), ...imports],
    controllers: [RoutesController],
  })
    .setLogger(recorder)
    .compile();
  app = module.createNestApplication<NestFastifyApplication>(new FastifyAdapter());
  await app.init();
  return { app, recorder, ledger: ledger.current };
}

afterEach(async () => {
  await app?.close();
  app = undefined;
});

describe('AuthModule', () => {
  it('guards each plane and answers in its own shape', async () => {
    const { app, recorder } = await boot({ apiKey: 'canary-shared' });
    const call = (method: 'GET' | 'POST', url: string, authorization?: string) =>
      app.inject({ method, url, headers: authorization === undefined ? {} : { authorization } });

    expect((await call('GET', '/probe')).statusCode).toBe(200);
    expect((await call('GET', '/admin', 'Bearer canary-shared')).payload).toBe('admin');
    expect((await call('POST', '/serve', 'bearer  canary-shared')).payload).toBe('served');

    const noHeader = await call('GET', '/admin');
    expect(noHeader.statusCode).toBe(401);
    expect(noHeader.payload).toBe('Missing or invalid Authorization header');
    expect(noHeader.headers['content-type']).toMatch(/^text\/plain/);
    expect(noHeader.headers['www-authenticate']).toBe('Bearer realm="control-plane"');

    const wrongKey = await call('GET', '/admin', 'Bearer canary-wrong');
    expect([wrongKey.statusCode, wrongKey.payload]).toEqual([401, 'Invalid authentication token']);

    const serving = await call('POST', '/serve', 'Bearer canary-wrong');
    expect(serving.statusCode).toBe(401);
    expect(serving.headers['content-type']).toMatch(/^application\/json/);
    expect(serving.headers['www-authenticate']).toBe('Bearer');
    expect(serving.json()).toEqual({
      error: {
        message: 'Invalid API key',
        type: 'authentication_error',
        code: 'invalid_api_key',
      },
    });

    const everything = [noHeader, wrongKey, serving]
      .map((answer) => answer.payload + JSON.stringify(answer.headers))
      .concat(recorder.lines)
      .join('\n');
    expect(everything).not.toMatch(/canary/);
  });

  it('keeps tenant keys out of the control plane', async () => {
    const { app, recorder } = await boot({
      tenantApiKeys: [{ tenantId: 't', key: 'canary-tenant' }],
    });
    const headers = { authorization: 'Bearer canary-tenant' };
    expect((await app.inject({ method: 'POST', url: '/serve', headers })).statusCode).toBe(201);
    expect((await app.inject({ method: 'GET', url: '/admin', headers })).statusCode).toBe(401);
    expect(recorder.lines.join('\n')).toMatch(/control plane refuses everyone/);
  });

  it('says at boot that everything is open', async () => {
    const { app, recorder } = await boot({});
    expect((await app.inject({ method: 'GET', url: '/admin' })).statusCode).toBe(200);
    expect(recorder.lines.join('\n')).toMatch(/serving plane and the control plane are open/);
  });

  it('gives the same answers before a body is read', async () => {
    const { app } = await boot({ apiKey: 'canary' });
    const gate = app.get(PlaneGate);
    expect(gate.authoriseRawRequest('public', undefined)).toEqual({ allowed: true });
    expect(gate.authoriseRawRequest('data', 'Bearer canary')).toEqual({ allowed: true });
    expect(gate.authoriseRawRequest('data', undefined)).toMatchObject({ status: 401 });
    const stranger = new IncomingMessage(new Socket());
    expect(gate.authorise('control', stranger)).toMatchObject({
      challenge: 'Bearer realm="control-plane"',
    });
  });

  it("refuses to start on a plug-in's route without a plane", async () => {
    await expect(boot({}, [StrayPlugin])).rejects.toThrow(
      /routes without a plane: StrayController\.unclassified;/,
    );
  });

  it('refuses to start with an unusable key', async () => {
    await expect(boot({ apiKey: ' canary' })).rejects.toThrow(/--api-key/);
  });

  describe('the record of decisions', () => {
    const KEYS: AuthOptions = {
      apiKey: 'canary-shared',
      controlPlaneApiKeys: [
        { id: 'ops', name: '', role: 'admin', key: 'canary-ops' },
        { id: 'eyes', name: '', role: 'user', key: 'canary-eyes' },
      ],
    };
    const ask = (from: NestFastifyApplication, key?: string, url = '/admin?token=canary') =>
      from.inject({
        method: url === '/serve' ? 'POST' : 'GET',
        url,
        headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
      });

    it('has one entry per control-plane request and none of other planes', async () => {
      const { app, ledger } = await boot(KEYS);
      const answers = [];
      for (const key of ['canary-ops', 'canary-eyes', 'canary-nobody', undefined]) {
        answers.push(await ask(app, key));
      }
      await ask(app, 'canary-shared', '/serve');
      await ask(app, undefined, '/serve');
      await ask(app, undefined, '/probe');
      expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 403, 401, 401]);
      expect(answers[1]?.payload).toBe('Admin role required for control plane access');
      expect(answers[1]?.headers).not.toHaveProperty('www-authenticate');
      expect(
        ledger.entries.map(({ principal, outcome, details }) => [principal.id, outcome, details]),
      ).toEqual([
        ['ops', 'success', undefined],
        ['eyes', 'denied', 'Admin role required for control plane access'],
        ['unauthenticated', 'denied', 'Invalid authentication token'],
        ['unauthenticated', 'denied', 'Missing or invalid Authorization header'],
      ]);
      expect(ledger.entries[0]).toMatchObject({
        kind: 'decision',
        httpMethod: 'GET',
        path: '/admin',
      });
      expect(JSON.stringify(ledger.entries)).not.toMatch(/canary/);
    });

    it('is not waited for, unless it is required', async () => {
      const { app, ledger } = await boot(KEYS);
      ledger.isFull = true;
      expect((await ask(app, 'canary-ops')).statusCode).toBe(200);
      ledger.isRequired = true;
      const refused = await ask(app, 'canary-ops');
      expect([refused.statusCode, refused.payload]).toEqual([503, 'Audit log unavailable']);
      expect(refused.headers).toMatchObject({
        'content-type': 'text/plain; charset=utf-8',
        'x-smg-error-code': 'audit_unavailable',
      });
      // Who is refused anyway learns why.
      expect((await ask(app, 'canary-eyes')).statusCode).toBe(403);
      expect((await ask(app, 'canary-shared', '/serve')).statusCode).toBe(201);
      ledger.isFull = false;
      expect((await ask(app, 'canary-ops')).statusCode).toBe(200);
    });

    it('is empty when the log is off', async () => {
      const { app, ledger } = await boot(KEYS);
      ledger.isOn = false;
      ledger.isRequired = true;
      expect((await ask(app, 'canary-ops')).statusCode).toBe(200);
      expect(ledger.entries).toEqual([]);
    });

    it('one request is decided once, whoever asks how often', async () => {
      const { app, ledger } = await boot(KEYS);
      const gate = app.get(PlaneGate);
      const request = new IncomingMessage(new Socket());
      request.headers.authorization = 'Bearer canary-ops';
      request.url = '/workers';
      const facts = { requestId: 'req-1', route: '/workers' };
      expect(gate.authorise('control', request, facts)).toEqual({ allowed: true });
      request.headers.authorization = 'Bearer nobody';
      expect(gate.authorise('control', request)).toEqual({ allowed: true });
      expect(ledger.entries).toEqual([expect.objectContaining(facts)]);
      expect(principalOf(request)).toEqual({ id: 'ops', method: 'api_key', role: 'admin' });
    });

    it('a refused request has no principal', async () => {
      const { app } = await boot(KEYS);
      const request = new IncomingMessage(new Socket());
      request.headers.authorization = 'Bearer canary-eyes';
      expect(app.get(PlaneGate).authorise('control', request)).toMatchObject({ status: 403 });
      expect(principalOf(request)).toBeUndefined();
    });
  });
});
