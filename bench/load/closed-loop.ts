import { connect, type Socket } from 'node:net';
import { chatRequest, freshRequest, renewPrompt } from './chat-request';
import { nowMicros, sleep } from './clock';
import { Histogram } from './histogram';
import { type ClosedLoopRun, type WindowResult } from './messages';
import { canReadProc, cpuNanoseconds } from './proc';
import { ResponseReader } from './response-reader';
import { Failures } from './failures';

/** Time given to requests in flight after the window. */
const DRAIN_MS = 2_000;

/** Prompts numbered so far, in all windows: none comes twice in a run. */
let prompts = 0;

/** Keep-alive connections that each send the next request when the answer has come. */
class ClosedLoop {
  private readonly request: Buffer;
  private readonly sockets = new Set<Socket>();
  private histogram = new Histogram();
  private running = true;
  private measuring = false;
  private inFlight = 0;
  private readonly statuses: Record<string, number> = {};

  constructor(
    private readonly run: ClosedLoopRun,
    private readonly failures: Failures,
  ) {
    const { port, apiKey } = run.target;
    this.request =
      run.freshPrompts === true ? freshRequest(port, apiKey) : chatRequest(port, apiKey, false);
  }

  async measure(): Promise<WindowResult> {
    const { target, connections, warmupMs, windowMs } = this.run;
    for (let i = 0; i < connections; i += 1) this.open();
    await sleep(warmupMs);
    this.histogram = new Histogram();
    this.measuring = true;
    const startUs = nowMicros();
    const startCpu = cpuNanoseconds(target.pids);
    await sleep(windowMs);
    const cpu = cpuNanoseconds(target.pids) - startCpu;
    const seconds = (nowMicros() - startUs) / 1e6;
    this.measuring = false;
    await this.drain();
    const latency = this.histogram.summary();
    if (latency.count === 0) this.failures.add('no answer inside the window');
    return {
      count: latency.count,
      seconds,
      cpuMicrosEach: canReadProc && target.pids.length > 0 ? cpu / 1e3 / latency.count : Number.NaN,
      latency,
      statuses: this.statuses,
      errors: this.failures.count,
      reasons: this.failures.reasons,
    };
  }

  private open(): void {
    const socket = connect({ host: '127.0.0.1', port: this.run.target.port, noDelay: true });
    this.sockets.add(socket);
    let sentAt = 0;
    let waiting = false;
    // A connection's own bytes: it changes them only when nothing of it is being sent.
    const request = this.run.freshPrompts === true ? Buffer.from(this.request) : this.request;
    const send = (): void => {
      if (this.run.freshPrompts === true) renewPrompt(request, ++prompts);
      sentAt = nowMicros();
      waiting = true;
      this.inFlight += 1;
      socket.write(request);
    };
    const reader = new ResponseReader((status) => {
      if (!waiting) {
        this.failures.add('an answer nobody asked for');
        return;
      }
      waiting = false;
      this.inFlight -= 1;
      this.statuses[status] = (this.statuses[status] ?? 0) + 1;
      if (status !== 200) this.failures.add(`status ${status}`);
      else if (this.measuring) this.histogram.record(nowMicros() - sentAt);
      if (this.running && !this.failures.tooMany) send();
    });
    socket.on('connect', send);
    socket.on('data', (chunk: Buffer) => {
      try {
        reader.push(chunk);
      } catch (error) {
        this.failures.add(String(error));
        socket.destroy();
      }
    });
    socket.on('error', (error) => this.failures.add(error.message));
    socket.on('end', () => socket.destroy());
    socket.on('close', () => {
      this.sockets.delete(socket);
      if (waiting) {
        waiting = false;
        this.inFlight -= 1;
        this.failures.add('closed before the answer was complete');
      }
      // A server may end an idle keep-alive connection; the loop goes on with a new one.
      if (this.running && !this.failures.tooMany) this.open();
    });
  }

  private async drain(): Promise<void> {
    this.running = false;
    const deadline = Date.now() + DRAIN_MS;
    while (this.inFlight > 0 && Date.now() < deadline) await sleep(5);
    if (this.inFlight > 0) this.failures.add(`${this.inFlight} requests without an answer`);
    for (const socket of this.sockets) {
      socket.removeAllListeners('close');
      socket.destroy();
    }
  }
}

/** Runs one closed-loop window. */
export function closedLoop(run: ClosedLoopRun): Promise<WindowResult> {
  return new ClosedLoop(run, new Failures()).measure();
}
