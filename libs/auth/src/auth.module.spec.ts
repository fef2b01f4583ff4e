import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { Controller, Get, type LoggerService, Module, Post } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { ControlPlane, DataPlane, Public } from '@smg/plugin-api';
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

let app: NestFastifyApplication | undefined;

async function boot(options: AuthOptions, imports: (typeof StrayPlugin)[] = []) {
  const recorder = new Recorder();
  const module = await Test.createTestingModule({
    imports: [AuthModule.forRoot(options), ...imports],
    controllers: [RoutesController],
  })
    .setLogger(recorder)
    .compile();
  app = module.createNestApplication<NestFastifyApplication>(new FastifyAdapter());
  await app.init();
  return { app, recorder };
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
});
