import { type NestApplicationOptions } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { PlaneGate } from '@smg/auth';
import { type GatewayConfig, loadConfig } from '@smg/config';
import { GatewayLog, ProcessLifecycle } from '@smg/observability';
import {
  AUDIT_LOG,
  type AuditLog,
  ENTRY_CONTROL,
  type EntryControl,
  REQUEST_OBSERVER,
  type RequestObserver,
  SERVING_AUTH,
  type ServingAuth,
} from '@smg/plugin-api';
import { loadPlugin, type PluginModule } from '@smg/plugin-host';
import { WorkerSelector } from '@smg/policy';
import { DataPlaneServer } from '@smg/proxy';
import { FrontDoor } from './front-door';
import { createFastifyAdapter, prepareFastify } from './fastify/fastify-setup';
import { planesOfRoutes } from './fastify/route-planes';
import { Gateway } from './gateway';
import { GatewayModule } from './gateway.module';
import { HttpErrorFilter } from './http-error.filter';
import { limitsEntry } from './slices';
import { sharedKeyAtStart } from './secret-files';
import { DocumentSource } from './openapi/document.source';
import { askBrowsersToSignIn } from './openapi/sign-in';
import { CorsPolicy } from './listener/cors/cors.policy';
import { ListenerMetrics } from './listener/listener-metrics';
import { ListenerModule } from './listener/listener.module';
import { TlsCertificate } from './listener/tls/tls-certificate';

export interface CreateGatewayOptions {
  /** Modules that extend the gateway, besides those `--plugin` names. */
  readonly plugins?: readonly PluginModule[];
  /** Log to write to; a new one on stdout when left out. */
  readonly log?: GatewayLog;
}

/**
 * Builds a gateway that is ready to listen.
 *
 * @example
 * ```ts
 * const gateway = await createGateway(loadConfig({ workers: { urls: ['http://127.0.0.1:31001'] } }), {
 *   plugins: [GpuClassPlugin],
 * });
 * await gateway.listen();
 * ```
 * @throws Error when anything is missing, contradictory or cannot be had: nothing half-built stays.
 */
export async function createGateway(
  config: GatewayConfig = loadConfig(),
  options: CreateGatewayOptions = {},
): Promise<Gateway> {
  const log = options.log ?? new GatewayLog({ level: config.observability.logLevel });
  const plugins = [...(options.plugins ?? [])];
  for (const specifier of config.plugins.modules) {
    plugins.push(...(await loadPlugin(specifier, process.cwd())));
  }

  const certificate = certificateOf(config);
  const door = new FrontDoor({
    cors: new CorsPolicy(config.listener.corsAllowedOrigins),
    certificate,
  });
  // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- Nest declares its option bag as a class and takes literals
  const nest: NestApplicationOptions = { bodyParser: false, abortOnError: false };
  nest.logger = log.logger;
  const app = await NestFactory.create<NestFastifyApplication>(
    GatewayModule.forRoot(
      config,
      [ListenerModule.forRoot(certificate), ...plugins],
      log,
      await sharedKeyAtStart(config),
    ),
    createFastifyAdapter(door),
    nest,
  );
  app.useGlobalFilters(new HttpErrorFilter());

  const dataPlane = app.get(DataPlaneServer);
  prepareFastify(app.getHttpAdapter().getInstance(), {
    observer: app.get<RequestObserver>(REQUEST_OBSERVER),
    audit: app.get<AuditLog>(AUDIT_LOG),
    dataPlane,
    gate: app.get(PlaneGate),
    selector: app.get(WorkerSelector),
    planes: planesOfRoutes(app),
    auth: app.get<ServingAuth>(SERVING_AUTH),
    entry: limitsEntry(config) ? app.get<EntryControl>(ENTRY_CONTROL) : undefined,
    bodyIdleMs: config.requests.bodyIdleTimeoutSecs * 1000,
    maxPayloadSize: config.requests.maxPayloadSize,
  });
  if (!config.listener.docsDisabled) {
    app.get(DocumentSource).attach(app);
    askBrowsersToSignIn(app.getHttpAdapter().getInstance());
  }
  await app.init();
  door.open({
    dataPlane,
    lifecycle: app.get(ProcessLifecycle),
    observer: app.get<RequestObserver>(REQUEST_OBSERVER),
    metrics: app.get(ListenerMetrics),
  });
  return new Gateway(app, config);
}

/** The main port speaks TLS when both files are given; half of them the configuration refuses. */
function certificateOf({ tls }: GatewayConfig): TlsCertificate | undefined {
  const { certPath, keyPath } = tls;
  if (certPath === undefined || keyPath === undefined) return undefined;
  return new TlsCertificate({ certPath, keyPath });
}
