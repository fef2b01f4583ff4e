import { connect, type Socket } from 'node:net';
import { chatRequest } from './chat-request';
import { nowMicros, sleep } from './clock';
import { Failures } from './failures';
import { Histogram } from './histogram';
import {
  type HoldResult,
  type HoldRun,
  type StreamsRun,
  type Target,
  type WindowResult,
} from './messages';
import { canReadProc, cpuNanoseconds } from './proc';
import { statusOf } from './response-reader';
import { EventCounter } from './sse-events';

/** Streams being opened at the same time. */
const OPENING_AT_ONCE = 50;
/** Time one stream may take until its first event. */
const FIRST_EVENT_MS = 10_000;

/** A set of open SSE streams; events of all of them reach one listener. */
class StreamSet {
  private readonly sockets = new Set<Socket>();
  private closing = false;
  readonly failures = new Failures();

  constructor(
    private readonly target: Target,
    private readonly onEvent: (stampUs: number) => void,
  ) {}

  get size(): number {
    return this.sockets.size;
  }

  /** Opens `count` streams and waits for the first event of each. */
  async open(count: number): Promise<void> {
    const request = chatRequest(this.target.port, this.target.apiKey, true);
    let started = 0;
    const lane = async (): Promise<void> => {
      while (started < count && !this.failures.tooMany) {
        started += 1;
        await this.openOne(request);
      }
    };
    await Promise.all(Array.from({ length: Math.min(OPENING_AT_ONCE, count) }, lane));
  }

  close(): void {
    this.closing = true;
    for (const socket of this.sockets) socket.destroy();
    this.sockets.clear();
  }

  private openOne(request: Buffer): Promise<void> {
    return new Promise((resolve) => {
      const socket = connect({ host: '127.0.0.1', port: this.target.port, noDelay: true });
      this.sockets.add(socket);
      const timer = setTimeout(() => fail('no first event in time'), FIRST_EVENT_MS);
      const fail = (reason: string): void => {
        if (this.closing) return;
        this.failures.add(reason);
        socket.destroy();
      };
      const counter = new EventCounter((stamp) => {
        clearTimeout(timer);
        resolve();
        this.onEvent(stamp);
      });
      let head = '';
      let inBody = false;
      socket.on('connect', () => socket.write(request));
      socket.on('data', (chunk: Buffer) => {
        if (inBody) {
          counter.push(chunk);
          return;
        }
        head += chunk.toString('latin1', 0, chunk.length);
        const end = head.indexOf('\r\n\r\n');
        if (end < 0) return;
        inBody = true;
        try {
          const status = statusOf(head);
          if (status === 200) counter.push(Buffer.from(head.slice(end + 4), 'latin1'));
          else fail(`status ${status}`);
        } catch (error) {
          fail(String(error));
        }
      });
      socket.on('error', (error) => fail(error.message));
      socket.on('end', () => fail('the stream ended'));
      socket.on('close', () => {
        clearTimeout(timer);
        this.sockets.delete(socket);
        resolve();
      });
    });
  }
}

/** Runs one window of paced streams: counts events and how long each was on its way. */
export async function pacedStreams(run: StreamsRun): Promise<WindowResult> {
  let histogram = new Histogram();
  let measuring = false;
  const set = new StreamSet(run.target, (stamp) => {
    if (measuring) histogram.record(nowMicros() - stamp);
  });
  await set.open(run.streams);
  await sleep(run.warmupMs);
  histogram = new Histogram();
  measuring = true;
  const startUs = nowMicros();
  const startCpu = cpuNanoseconds(run.target.pids);
  await sleep(run.windowMs);
  const cpu = cpuNanoseconds(run.target.pids) - startCpu;
  const seconds = (nowMicros() - startUs) / 1e6;
  measuring = false;
  if (set.size < run.streams) set.failures.add(`${run.streams - set.size} streams lost`);
  const latency = histogram.summary();
  if (latency.count === 0) set.failures.add('no event inside the window');
  set.close();
  return {
    count: latency.count,
    seconds,
    cpuMicrosEach:
      canReadProc && run.target.pids.length > 0 ? cpu / 1e3 / latency.count : Number.NaN,
    latency,
    statuses: {},
    errors: set.failures.count,
    reasons: set.failures.reasons,
  };
}

let held: StreamSet | undefined;

/** Opens streams and keeps them until {@link releaseStreams}. */
export async function holdStreams(run: HoldRun): Promise<HoldResult> {
  releaseStreams();
  held = new StreamSet(run.target, () => undefined);
  await held.open(run.streams);
  return { open: held.size, reasons: held.failures.reasons };
}

/** @returns how many streams were still open. */
export function releaseStreams(): number {
  const open = held?.size ?? 0;
  held?.close();
  held = undefined;
  return open;
}
