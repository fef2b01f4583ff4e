// Boots the built program as a user would: a mock engine, the gateway, one request, SIGTERM, exit 0.
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

const freePort = async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
};

const children = [];
const start = (...args) => {
  const child = spawn(process.execPath, ['dist/src/main.js', ...args], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  children.push(child);
  return child;
};

const until = async (what, attempt) => {
  for (let tries = 0; tries < 200; tries += 1) {
    if (await attempt().catch(() => false)) return;
    await sleep(100);
  }
  throw new Error(`gave up waiting: ${what}`);
};

try {
  const [enginePort, port, metricsPort] = [await freePort(), await freePort(), await freePort()];
  start('mock-engine', '--kind', 'sglang', '--port', String(enginePort));
  const gateway = start(
    ...['launch', '--host', '127.0.0.1', '--port', String(port), '--prometheus-host', '127.0.0.1'],
    ...['--prometheus-port', String(metricsPort), '--worker-startup-check-interval', '1'],
    ...['--worker-urls', `http://127.0.0.1:${enginePort}`, '--shutdown-grace-period-secs', '4'],
  );
  const base = `http://127.0.0.1:${port}`;
  await until('readiness', async () => (await fetch(`${base}/readiness`)).status === 200);
  const answer = await fetch(`${base}/generate`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ text: 'hello' }),
  });
  if (answer.status !== 200) throw new Error(`/generate answered ${answer.status}`);
  if (answer.headers.get('x-smg-routed-worker-id') !== `http://127.0.0.1:${enginePort}`) {
    throw new Error('the answer does not name its worker');
  }
  await answer.text();
  const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  if (!metrics.includes('smg_http_requests_total')) throw new Error('no metrics');
  gateway.kill('SIGTERM');
  const [code] = await once(gateway, 'exit');
  if (code !== 0) throw new Error(`the gateway exited with ${code}`);
  console.log('booted, served, stopped with exit code 0');
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  for (const child of children) child.kill('SIGKILL');
}
