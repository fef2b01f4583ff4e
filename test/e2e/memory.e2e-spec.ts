import { MockEngine, type Chunk } from '@smg/testing';
import { createServer } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { startGateway } from '../support/gateway';
import { open, send } from '../support/http';
import { until } from '../support/until';
import { chat, chatEvent, chatStream, DONE, generate } from './support/bodies';
import { describeLanes } from './support/lanes';
import { heldBytes } from './support/memory';
import { rawPost } from './support/raw-client';

const CHAT = '/v1/chat/completions';
const MIB = 1024 * 1024;
const settle = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Endless enough: 200 MB in pieces of 64 KiB, counted as the engine hands them over. */
function flood(): { readonly chunks: readonly Chunk[]; readonly sent: () => number } {
  const piece = Buffer.from(chatEvent('x'.repeat(65_000)));
  let pieces = 0;
  const source = {
    *[Symbol.iterator]() {
      for (; pieces < 3_200; pieces += 1) yield piece;
    },
  };
  // The engine only iterates; a real array of 3,200 references would do as well but not count.
  return { chunks: source as unknown as readonly Chunk[], sent: () => pieces * piece.length };
}

describeLanes('memory', ({ hotLane }) => {
  it('[R17] 20 clients that stop reading: reads from the engines pause, memory stays, others go on, then they are cut', async () => {
    const clients = 20;
    const engine = new MockEngine({ keepRequests: 0 });
    await engine.start();
    const gateway = await startGateway(
      { requests: { hotLane, streamBodyStallTimeoutSecs: 2 }, health: { checksDisabled: true } },
      { engines: [engine] },
    );
    const sockets: Socket[] = [];
    try {
      await send(`${gateway.url}${CHAT}`, { body: chat() });
      const before = heldBytes();
      const floods = Array.from({ length: clients }, () => flood());
      for (const { chunks } of floods) engine.behave({ route: CHAT, times: 1, chunks });
      for (let at = 0; at < clients; at += 1) {
        const socket = connect(gateway.port, '127.0.0.1');
        socket.on('error', () => undefined);
        // Reads the first bytes and then nothing more.
        socket.once('data', () => socket.pause());
        socket.write(rawPost(CHAT, JSON.stringify(chatStream())));
        sockets.push(socket);
      }
      const total = () => floods.reduce((sum, { sent }) => sum + sent(), 0);
      let last = -1;
      await until('the engine waits', async () => {
        const now = total();
        const stands = now === last && now > 0;
        last = now;
        await settle(150);
        return stands;
      });
      // Everything sent is in socket buffers of the kernel: far less than what the engine has.
      expect(total()).toBeLessThan(clients * 30 * MIB);
      const grown = heldBytes() - before;
      expect(grown).toBeLessThan(clients * MIB);
      engine.behaveNormally();
      const startedAt = performance.now();
      expect((await send(`${gateway.url}${CHAT}`, { body: chat() })).status).toBe(200);
      expect(performance.now() - startedAt).toBeLessThan(1_000);
      await until('the stalled ones are cut', () => engine.counters.inFlight === 0, 12_000);
    } finally {
      for (const socket of sockets) socket.destroy();
      await gateway.close();
      await engine.stop();
    }
  });

  it('a slow but steady reader is not cut by the stall clock', async () => {
    const engine = new MockEngine({ keepRequests: 0 });
    await engine.start();
    const gateway = await startGateway(
      { requests: { hotLane, streamBodyStallTimeoutSecs: 1 }, health: { checksDisabled: true } },
      { engines: [engine] },
    );
    try {
      const piece = Buffer.from(chatEvent('x'.repeat(500_000)));
      engine.behave({ route: CHAT, chunks: [...Array<Buffer>(20).fill(piece), DONE] });
      const { incoming } = await open(`${gateway.url}${CHAT}`, { body: chatStream() });
      let bytes = 0;
      let last: Buffer = Buffer.alloc(0);
      for await (const chunk of incoming as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        last = chunk;
        await settle(8);
      }
      expect(bytes).toBe(20 * piece.length + DONE.length);
      expect(last.toString().endsWith(DONE)).toBe(true);
    } finally {
      await gateway.close();
      await engine.stop();
    }
  });

  it('[R32] ten prompts of 8 MB with long answers: once sent, no body is held any more', async () => {
    const count = 10;
    const size = 8_000_000;
    // Shares the process with the gateway, so it keeps nothing of what it reads.
    const engine = createServer((request, response) => {
      request.resume().on('end', () => {
        if (request.url !== '/generate') {
          response.end('{}');
          return;
        }
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('data: {"a":1}\n\n');
      });
    });
    await new Promise<void>((resolve) => engine.listen(0, '127.0.0.1', resolve));
    const { port } = engine.address() as AddressInfo;
    const gateway = await startGateway({ requests: { hotLane }, health: { checksDisabled: true } });
    const streams: { leave(): void }[] = [];
    try {
      await send(`${gateway.url}/workers`, {
        body: { url: `http://127.0.0.1:${port}`, models: [{ id: 'm' }], runtime_type: 'sglang' },
      });
      await until('the engine is ready', async () => {
        return (await send(`${gateway.url}/readiness`)).status === 200;
      });
      const text = 'x'.repeat(size);
      const body = Buffer.from(JSON.stringify(generate({ model: 'm', stream: true, text })));
      const before = heldBytes();
      for (let at = 0; at < count; at += 1) {
        const stream = await open(`${gateway.url}/generate`, { body });
        await new Promise((resolve) => stream.incoming.once('data', resolve));
        streams.push(stream);
      }
      await until('the bodies are let go', () => heldBytes() - before < 0.1 * count * size, 3_000);
    } finally {
      for (const stream of streams) stream.leave();
      await gateway.close();
      engine.closeAllConnections();
      await new Promise((resolve) => engine.close(resolve));
    }
  });
});
