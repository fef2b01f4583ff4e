import {
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type Duplex } from 'node:stream';
import { Logger } from '@nestjs/common';
import { type Lifecycle, type RequestObserver } from '@smg/plugin-api';
import { createHardenedServer, type DataPlaneServer, headOf, replaceIdentity } from '@smg/proxy';
import { type CorsPolicy } from './listener/cors/cors.policy';
import { writeCorsHeaders } from './listener/cors/cors-head';
import {
  answerPreflight,
  type DoorServices,
  refuseLongTarget,
  refuseOrigin,
  refuseUnreadablePath,
} from './listener/door-answers';
import { type ListenerMetrics } from './listener/listener-metrics';
import { MAX_TARGET_LENGTH, originForm } from './listener/request-target';
import { type TlsCertificate } from './listener/tls/tls-certificate';

/** What the door is built with. */
export interface FrontDoorOptions {
  readonly cors: CorsPolicy;
  /** Speak TLS with it; plain HTTP when left out. */
  readonly certificate?: TlsCertificate | undefined;
}

/** What exists once the application is built. */
export interface OpenDoor {
  readonly dataPlane: DataPlaneServer;
  readonly lifecycle: Lifecycle;
  readonly observer: RequestObserver;
  readonly metrics: ListenerMetrics;
}

/**
 * The one listener: paths of the data plane go to it, everything else to Fastify. What holds for both
 * lanes whatever the route is done here, before either. The server must exist before Nest has built
 * the data plane, so the door is opened afterwards, and before it listens.
 */
export class FrontDoor {
  private readonly tlsLogger = new Logger('tls');
  private server: Server | undefined;
  private inside: OpenDoor | undefined;
  private services: DoorServices | undefined;

  constructor(private readonly options: FrontDoorOptions) {}

  /** Fastify's `serverFactory`. */
  createServer(fastify: RequestListener): Server {
    const { certificate } = this.options;
    const server = createHardenedServer(
      {
        // Both lanes ask for a body only when they want it.
        answersExpectation: () => true,
        upgrades: {
          wants: (request) => this.wantsUpgrade(request),
          serve: (request, socket, early) => {
            this.upgrade(request, socket, early);
          },
        },
        tls: certificate && {
          ...certificate.current,
          onHandshakeFailure: (reason, code) => {
            this.inside?.metrics.handshakeFailed(reason);
            // Anyone can cause these: counted always, told only to who asks.
            this.tlsLogger.debug(`handshake failed: ${code}`);
          },
        },
      },
      (request, response) => {
        this.serve(request, response, fastify);
      },
    );
    this.server = server;
    certificate?.onChange((identity) => {
      replaceIdentity(server, identity);
      this.inside?.metrics.certificateExpires(identity.notAfter);
    });
    return server;
  }

  open(inside: OpenDoor): void {
    const { dataPlane, observer, metrics } = inside;
    const { certificate } = this.options;
    this.inside = inside;
    this.services = { observer, requestIdOf: (request) => dataPlane.requestIdOf(request) };
    if (this.server !== undefined) dataPlane.watch(this.server);
    if (certificate === undefined) return;
    metrics.certificateExpires(certificate.current.notAfter);
    // A gateway that is restarted at night must come back, with whatever certificate it has.
    if (certificate.problem !== undefined) this.tlsLogger.warn(certificate.problem);
  }

  /** Answers what Fastify's router cannot read: none of its hooks runs then. */
  refuseUnreadable(request: IncomingMessage, response: ServerResponse): void {
    if (this.services === undefined) response.destroy();
    else refuseUnreadablePath(this.services, request, response);
  }

  private wantsUpgrade(request: IncomingMessage): boolean {
    const target = request.url ?? '';
    if (target.length > MAX_TARGET_LENGTH) return false;
    return this.inside?.dataPlane.wantsUpgrade(request, originForm(target)) === true;
  }

  private upgrade(request: IncomingMessage, socket: Duplex, early: Buffer): void {
    const { origin } = headOf(request);
    // Browsers let any page open a WebSocket anywhere: whom the server wants, it must say itself.
    const isWelcome =
      origin === undefined ||
      this.options.cors.headersFor(origin).answer.includes('access-control-allow-origin');
    request.url = originForm(request.url ?? '');
    if (isWelcome) this.inside?.dataPlane.upgrade(request, socket, early);
    else if (this.services !== undefined) refuseOrigin(this.services, request, socket);
  }

  private serve(
    request: IncomingMessage,
    response: ServerResponse,
    fastify: RequestListener,
  ): void {
    const { inside } = this;
    // A connection that is told to close now is one less to cut later.
    if (inside?.lifecycle.isDraining === true) response.shouldKeepAlive = false;
    if (this.answersItself(request, response)) return;
    const dataPlane = inside?.dataPlane;
    if (dataPlane?.handle(request, response) === true) return;
    if (dataPlane?.owns(request) !== true && dataPlane?.refusesLoop(request, response) === true) {
      return;
    }
    fastify(request, response);
  }

  /** CORS, and targets no lane would understand. */
  private answersItself(request: IncomingMessage, response: ServerResponse): boolean {
    const { services } = this;
    if (services === undefined) return false;
    const head = headOf(request);
    if (head.origin !== undefined) {
      const headers = this.options.cors.headersFor(head.origin);
      if (
        request.method === 'OPTIONS' &&
        head.header('access-control-request-method') !== undefined
      ) {
        answerPreflight(services, request, response, headers.preflight);
        return true;
      }
      writeCorsHeaders(response, headers.answer);
    }
    const target = request.url ?? '';
    if (target.length > MAX_TARGET_LENGTH) {
      refuseLongTarget(services, request, response);
      return true;
    }
    request.url = originForm(target);
    return false;
  }
}
