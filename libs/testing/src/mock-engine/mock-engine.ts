import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, type Socket } from 'node:net';
import { Answer } from './answer';
import { BehaviourScript, isScripted, type Behaviour, type CutKind } from './behaviour';
import { EngineCounters } from './engine-counters';
import { engineError } from './engine-error';
import { EngineState } from './engine-state';
import {
  resolveOptions,
  type MockEngineOptions,
  type ResolvedOptions,
} from './mock-engine.options';
import { acceptWebSocket, MockWebSocket } from './mock-web-socket';
import { readBody } from './read-body';
import { RecordedRequest } from './recorded-request';
import { type RouteContext, type RouteTable } from './route-table';
import { routesOf } from './routes/routes';
import { giveScriptedAnswer } from './scripted-answer';
import { sleep } from './sleep';

/** Sees each request once its body is read; what it returns or awaits delays the answer. */
export type RequestHook = (request: RecordedRequest) => void | Promise<void>;

/**
 * An inference engine without a model: speaks SGLang's or vLLM's HTTP protocol on a loopback port,
 * keeps their pause, sleep and weight-version state, and does whatever a test scripts.
 *
 * @example
 * ```ts
 * const engine = new MockEngine({ tokens: 4 });
 * await engine.start();
 * engine.behave({ route: '/generate', times: 1, status: 503 });
 * // … talk to engine.url …
 * await engine.stop();
 * ```
 */
export class MockEngine {
  readonly options: ResolvedOptions;
  readonly counters = new EngineCounters();
  /** Pause, sleep and version state; a test may read and change it. */
  readonly state: EngineState;
  /** Oldest first, at most `keepRequests`. */
  readonly requests: RecordedRequest[] = [];
  /** Realtime sessions, oldest first. */
  readonly webSockets: MockWebSocket[] = [];
  /** What it says in place of the right `Sec-WebSocket-Accept`. */
  falseAccept: string | undefined;
  private readonly script = new BehaviourScript();
  private readonly hooks = new Set<RequestHook>();
  private readonly table: RouteTable;
  private readonly sockets = new Set<Socket>();
  private readonly answers = new Set<Answer>();
  private server: Server | undefined;
  private boundPort = 0;
  private lastId = 0;

  constructor(options: MockEngineOptions = {}) {
    this.options = resolveOptions(options);
    this.state = new EngineState(this.options.weightVersion);
    this.table = routesOf(this.options.kind);
  }

  /** Listens; after a stop or crash, on the port it had before. */
  async start(): Promise<this> {
    if (this.server !== undefined) throw new Error('the mock engine is already listening');
    const server = createServer({ maxHeaderSize: 65_536 }, (incoming, response) => {
      void this.serve(incoming, response);
    });
    server.requestTimeout = 0;
    server.keepAliveTimeout = this.options.keepAliveMs;
    // Otherwise Node adds a second to the idle time above (newer versions only).
    (server as { keepAliveTimeoutBuffer?: number }).keepAliveTimeoutBuffer = 0;
    server.on('connection', (socket) => {
      this.accept(socket);
    });
    server.on('upgrade', (incoming: IncomingMessage, socket: Socket, early: Buffer) => {
      void this.upgrade(incoming, socket, early);
    });
    server.on('clientError', (_error, socket) => {
      socket.destroy();
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.boundPort || this.options.port, this.options.host, resolve);
    });
    this.server = server;
    this.boundPort = (server.address() as AddressInfo).port;
    return this;
  }

  /** Closes everything, open streams included. Harmless when not listening. */
  async stop(): Promise<void> {
    const server = this.server;
    this.server = undefined;
    for (const answer of this.answers) answer.abandon();
    const closed =
      server === undefined
        ? Promise.resolve()
        : new Promise<void>((resolve) => {
            server.close(() => {
              resolve();
            });
          });
    for (const socket of this.sockets) socket.destroy();
    await closed;
    // The close events of sockets and answers follow within a turn or two.
    for (let turn = 0; turn < 50 && this.sockets.size + this.answers.size > 0; turn += 1) {
      await new Promise(setImmediate);
    }
  }

  /** Dies as a killed process does: every connection reset, nobody listening, no memory of state. */
  crash(): void {
    const server = this.server;
    this.server = undefined;
    for (const socket of this.sockets) socket.resetAndDestroy();
    for (const answer of this.answers) answer.abandon();
    server?.close();
    this.state.resume();
    this.state.released.clear();
    this.state.publish(this.options.weightVersion);
  }

  /** Closes idle and busy connections but goes on listening. */
  dropConnections(how: Exclude<CutKind, 'hang'> = 'fin'): void {
    for (const socket of this.sockets) {
      if (how === 'reset') socket.resetAndDestroy();
      else socket.end();
    }
  }

  get port(): number {
    return this.boundPort;
  }

  get url(): string {
    const host = this.options.host.includes(':') ? `[${this.options.host}]` : this.options.host;
    return `http://${host}:${this.boundPort}`;
  }

  /** Open connections. */
  get connections(): number {
    return this.sockets.size;
  }

  get weightVersion(): string {
    return this.state.weightVersion;
  }

  /** New weights behind the gateway's back; running answers get a second span. */
  set weightVersion(version: string) {
    this.state.publish(version);
  }

  /** Scripts answers; the latest behaviour that matches wins. @returns takes it back. */
  behave(behaviour: Behaviour): () => void {
    return this.script.add(behaviour);
  }

  /** Forgets every behaviour. */
  behaveNormally(): void {
    this.script.clear();
  }

  /** @returns a function that removes the hook. */
  onRequest(hook: RequestHook): () => void {
    this.hooks.add(hook);
    return () => {
      this.hooks.delete(hook);
    };
  }

  /** Requests to one path, oldest first. */
  requestsTo(route: string): readonly RecordedRequest[] {
    return this.requests.filter((request) => request.route === route);
  }

  /** Resolves when `holds` does. @throws Error after `timeoutMs`. */
  async waitUntil(holds: () => boolean, timeoutMs = 5_000): Promise<void> {
    const until = performance.now() + timeoutMs;
    while (!holds()) {
      if (performance.now() > until) throw new Error(`not so within ${timeoutMs} ms`);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }

  private accept(socket: Socket): void {
    this.sockets.add(socket);
    socket.once('close', () => {
      this.sockets.delete(socket);
    });
    socket.on('error', () => {
      // A peer that resets is an everyday event.
    });
    const behaviour = this.script.takeForConnection();
    if (behaviour?.cut === undefined) return;
    if (behaviour.cut.how === 'reset') socket.resetAndDestroy();
    else if (behaviour.cut.how === 'fin') socket.end();
    else socket.pause();
  }

  private async serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = new RecordedRequest(incoming);
    this.remember(request);
    this.counters.started(request);
    const behaviour = this.script.takeForRequest(request);
    const answer = new Answer(request, incoming, response, behaviour);
    this.answers.add(answer);
    response.once('close', () => {
      this.answers.delete(answer);
      this.counters.ended(request);
    });
    try {
      await this.respond(incoming, answer, behaviour);
    } catch (error) {
      if (answer.isOver) return;
      if (answer.headSent) incoming.socket.resetAndDestroy();
      else await answer.json(500, engineError(this.options.kind, 500, String(error)));
    }
  }

  private refusalOfSocket(
    request: RecordedRequest,
    behaviour: Behaviour | undefined,
  ): string | undefined {
    const { isAsleep } = this.state;
    if (request.route === '/v1/realtime' && behaviour?.status === undefined && !isAsleep) {
      return undefined;
    }
    const status = behaviour?.status ?? (isAsleep ? 503 : 404);
    request.status = status;
    const body = JSON.stringify(behaviour?.body ?? engineError(this.options.kind, status, 'no'));
    return `HTTP/1.1 ${status} Refused\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`;
  }

  private async upgrade(incoming: IncomingMessage, socket: Socket, early: Buffer): Promise<void> {
    const request = new RecordedRequest(incoming);
    this.remember(request);
    this.counters.started(request);
    const gone = new AbortController();
    socket.once('close', () => {
      gone.abort();
      this.counters.ended(request);
    });
    const behaviour = this.script.takeForRequest(request);
    const chunks = [early];
    const keep = (chunk: Buffer): void => void chunks.push(chunk);
    const leave = (): void => void socket.destroy();
    // Only who reads learns that a client has left.
    socket.on('data', keep);
    socket.on('end', leave);
    socket.resume();
    await sleep(behaviour?.delayMs ?? 0, gone.signal);
    socket.off('data', keep);
    socket.off('end', leave);
    if (socket.destroyed) return;
    const { cut } = behaviour ?? {};
    if (cut !== undefined) {
      cutSocket(socket, cut.how);
      return;
    }
    const refusal = this.refusalOfSocket(request, behaviour);
    if (refusal !== undefined) {
      socket.end(refusal);
      return;
    }
    request.status = 101;
    socket.write(acceptWebSocket(request, this.falseAccept));
    this.webSockets.push(new MockWebSocket(request, socket, Buffer.concat(chunks)));
  }

  private async respond(
    incoming: IncomingMessage,
    answer: Answer,
    behaviour: Behaviour | undefined,
  ): Promise<void> {
    const { request } = answer;
    const cut = behaviour?.cut;
    if (cut?.at === 'request-head') return answer.perform(cut);
    const body = await readBody(incoming);
    if (body === undefined) return;
    request.body = body;
    request.complete = true;
    for (const hook of this.hooks) await hook(request);
    await sleep(behaviour?.delayMs ?? 0, answer.signal);
    if (cut?.at === 'request') return answer.perform(cut);
    if (answer.isOver) return;
    if (behaviour !== undefined && isScripted(behaviour)) {
      return giveScriptedAnswer(answer, behaviour, this.options.kind);
    }
    return this.answerNormally(answer);
  }

  private async answerNormally(answer: Answer): Promise<void> {
    const { request } = answer;
    const { apiKey, kind, failRate, failStatus, whenAsleep } = this.options;
    const refuse = (status: number, message: string): Promise<void> =>
      answer.json(status, engineError(kind, status, message));
    if (apiKey !== undefined && request.route !== '/health') {
      if (request.header('authorization') !== `Bearer ${apiKey}`) {
        return answer.json(401, { error: 'Unauthorized' });
      }
    }
    const route = this.table.find(request.route);
    if (route === undefined) return answer.json(404, { detail: 'Not Found' });
    if (!route.methods.includes(request.method)) {
      const allow = ['allow', route.methods.join(', ')];
      return answer.json(405, { detail: 'Method Not Allowed' }, allow);
    }
    if (route.isInference) {
      if (failRate > 0 && this.options.random() < failRate) {
        return refuse(failStatus, 'this engine was told to fail');
      }
      if (this.state.isAsleep && whenAsleep === 'error') {
        return refuse(kind === 'sglang' ? 500 : 503, 'GPU memory is released');
      }
      await this.state.until(() => !this.state.isAsleep, answer.signal);
      if (answer.isOver) return;
    }
    return route.handle(this.contextOf(answer));
  }

  private contextOf(answer: Answer): RouteContext {
    return {
      request: answer.request,
      answer,
      state: this.state,
      options: this.options,
      port: this.boundPort,
      nextId: () => (this.lastId += 1),
      crash: () => {
        this.crash();
      },
    };
  }

  private remember(request: RecordedRequest): void {
    if (this.options.keepRequests <= 0) return;
    this.requests.push(request);
    if (this.requests.length > this.options.keepRequests) this.requests.shift();
  }
}

function cutSocket(socket: Socket, how: CutKind): void {
  if (how === 'reset') socket.resetAndDestroy();
  else if (how === 'fin') socket.end();
}
