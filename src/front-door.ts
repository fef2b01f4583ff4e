import {
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type Lifecycle } from '@smg/plugin-api';
import { createHardenedServer, type DataPlaneServer } from '@smg/proxy';

/**
 * The one listener: paths of the data plane go to it, everything else to Fastify. The server must
 * exist before Nest has built the data plane, so the door is opened afterwards, and before it listens.
 */
export class FrontDoor {
  private server: Server | undefined;
  private dataPlane: DataPlaneServer | undefined;
  private lifecycle: Lifecycle | undefined;

  /** Fastify's `serverFactory`. */
  createServer(fastify: RequestListener): Server {
    this.server = createHardenedServer(
      // Both lanes ask for a body only when they want it.
      { answersExpectation: () => true },
      (request, response) => {
        this.serve(request, response, fastify);
      },
    );
    return this.server;
  }

  open(dataPlane: DataPlaneServer, lifecycle: Lifecycle): void {
    this.dataPlane = dataPlane;
    this.lifecycle = lifecycle;
    if (this.server !== undefined) dataPlane.watch(this.server);
  }

  private serve(
    request: IncomingMessage,
    response: ServerResponse,
    fastify: RequestListener,
  ): void {
    // A connection that is told to close now is one less to cut later.
    if (this.lifecycle?.isDraining === true) response.shouldKeepAlive = false;
    const { dataPlane } = this;
    if (dataPlane?.handle(request, response) === true) return;
    if (dataPlane?.owns(request) !== true && dataPlane?.refusesLoop(request, response) === true) {
      return;
    }
    fastify(request, response);
  }
}
