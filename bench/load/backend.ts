import { type AddressInfo, createServer, type Socket } from 'node:net';
import { MODEL } from './chat-request';
import { serveParent } from './child-rpc';
import { nowMicros } from './clock';
import { type BackendPace } from './messages';
import { timedEvent } from './sse-events';

/**
 * The engine stand-in: the least HTTP server that serves the load and that a gateway can register.
 * It trusts its peers: requests come whole, with Content-Length, one at a time on a connection.
 */

/** A stream whose reader lags this far, bytes, gets no further events until it has caught up. */
const MAX_QUEUED_BYTES = 1_048_576;

const EMPTY = Buffer.alloc(0);
const STREAM_HEAD = Buffer.from(
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n' +
    'transfer-encoding: chunked\r\n\r\n',
);

function jsonAnswer(status: string, value: unknown): Buffer {
  const body = JSON.stringify(value);
  return Buffer.from(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

/** About 1 KiB of answer. */
const CHAT_ANSWER = jsonAnswer('200 OK', {
  id: 'chatcmpl-bench',
  object: 'chat.completion',
  created: 1_700_000_000,
  model: MODEL,
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: 'A gateway spreads requests over engines. '.repeat(18),
      },
      finish_reason: 'stop',
    },
  ],
  usage: { prompt_tokens: 200, completion_tokens: 128, total_tokens: 328 },
});

const NOT_FOUND = jsonAnswer('404 Not Found', { error: 'no such path' });

/** What registration asks an engine. */
const PROBES: ReadonlyMap<string, Buffer> = new Map([
  ['/health', jsonAnswer('200 OK', {})],
  [
    '/server_info',
    jsonAnswer('200 OK', {
      model_path: MODEL,
      served_model_name: MODEL,
      version: '0.0.0',
      dp_size: 1,
    }),
  ],
  ['/model_info', jsonAnswer('200 OK', { model_path: MODEL, is_generation: true })],
  [
    '/v1/models',
    jsonAnswer('200 OK', {
      object: 'list',
      data: [
        { id: MODEL, object: 'model', owned_by: 'sglang', root: MODEL, max_model_len: 32_768 },
      ],
    }),
  ],
  ['/version', jsonAnswer('200 OK', { version: '0.0.0' })],
  ['/v1/loads', jsonAnswer('200 OK', { dp_rank_count: 1, loads: [] })],
]);

const sockets = new Set<Socket>();
/** Streams being served. */
const streams: Socket[] = [];
let pace: BackendPace = { eventsPerSecond: 0 };
let pacing = false;
/** Never notified: waiting on it is a sleep of sub-millisecond precision. */
const SLEEPER = new Int32Array(new SharedArrayBuffer(4));

function attend(socket: Socket): void {
  let pending: Buffer = EMPTY;
  sockets.add(socket);
  socket.on('error', () => undefined);
  socket.on('close', () => {
    sockets.delete(socket);
    const at = streams.indexOf(socket);
    if (at >= 0) {
      streams[at] = streams[streams.length - 1]!;
      streams.pop();
    }
  });
  socket.on('data', (chunk: Buffer) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    while (pending.length > 0) {
      const used = serve(socket, pending);
      if (used === 0) return;
      pending = pending.subarray(used);
    }
  });
}

/** Answers one request. @returns bytes it took, 0 when it is not complete. */
function serve(socket: Socket, data: Buffer): number {
  const end = data.indexOf('\r\n\r\n');
  if (end < 0) return 0;
  const head = data.toString('latin1', 0, end);
  const length = /\r\ncontent-length: *(\d+)/i.exec(head);
  const total = end + 4 + (length === null ? 0 : Number(length[1]));
  if (data.length < total) return 0;
  if (head.startsWith('POST /v1/chat/completions ')) {
    if (data.subarray(end + 4, total).includes('"stream":true')) startStream(socket);
    else socket.write(CHAT_ANSWER);
  } else {
    const path = /^GET ([^ ?]+)/.exec(head)?.[1];
    socket.write((path === undefined ? undefined : PROBES.get(path)) ?? NOT_FOUND);
  }
  return total;
}

function startStream(socket: Socket): void {
  socket.write(Buffer.concat([STREAM_HEAD, timedEvent(nowMicros())]));
  streams.push(socket);
  if (pace.eventsPerSecond > 0 && !pacing) runPacer();
}

/**
 * Spreads all events evenly in time, round robin over the streams: each event is written alone, so
 * that a proxy cannot serve several in one turn of its loop. Time lost beyond one event per stream
 * is not made up for. Timers are too coarse (1 ms); short gaps are slept through instead, during
 * which nobody else needs this process for longer than a gap.
 */
function runPacer(): void {
  let last = nowMicros();
  let due = 0;
  let next = 0;
  const tick = (): void => {
    if (streams.length === 0 || pace.eventsPerSecond === 0) {
      pacing = false;
      return;
    }
    const perMicro = (pace.eventsPerSecond * streams.length) / 1e6;
    const now = nowMicros();
    due = Math.min(streams.length, due + (now - last) * perMicro);
    last = now;
    if (due >= 1) {
      due -= 1;
      next = (next + 1) % streams.length;
      const socket = streams[next]!;
      if (socket.writableLength < MAX_QUEUED_BYTES) socket.write(timedEvent(nowMicros()));
    }
    const gapMs = due >= 1 ? 0 : (1 - due) / perMicro / 1e3;
    if (gapMs >= 2) {
      setTimeout(tick, Math.floor(gapMs));
    } else {
      if (gapMs > 0) Atomics.wait(SLEEPER, 0, 0, gapMs);
      setImmediate(tick);
    }
  };
  pacing = true;
  setImmediate(tick);
}

function listen(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer({ noDelay: true }, attend);
    server.once('error', reject);
    server.listen({ host: '127.0.0.1', port: 0, backlog: 4096 }, () =>
      resolve((server.address() as AddressInfo).port),
    );
  });
}

serveParent({
  listen,
  pace: (wanted: BackendPace) => {
    pace = wanted;
  },
  /** Streams still open: zero soon after the clients left, or the proxy leaks them. */
  openStreams: () => streams.length,
});
