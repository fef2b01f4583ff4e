import { createServer, type AddressInfo } from 'node:net';

/** Whether a loopback port can be listened on now; resolves to it, or rejects. */
function tryPort(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(port, '127.0.0.1', () => {
      const { port: bound } = probe.address() as AddressInfo;
      probe.close(() => {
        resolve(bound);
      });
    });
  });
}

/** `wanted` when it is free, otherwise any free port. */
export async function freePort(wanted = 0): Promise<number> {
  try {
    return await tryPort(wanted);
  } catch {
    return tryPort(0);
  }
}
