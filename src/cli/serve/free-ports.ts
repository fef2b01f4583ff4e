import { createServer } from 'node:net';
import { ServeError } from './serve-error';

const LAST_PORT = 65_535;
/** Ports are a random step apart, so that two starts at the same time rarely want the same ones. */
const MAX_STEP = 5;

export interface PortSearch {
  /** Uniform in [0, 1). */
  random(): number;
  isFree(port: number): Promise<boolean>;
}

/** `count` free ports from `base` on. @throws ServeError when there are not as many. */
export async function findPorts(
  base: number,
  count: number,
  search: PortSearch,
): Promise<readonly number[]> {
  const ports: number[] = [];
  for (let port = base; ports.length < count;) {
    if (port > LAST_PORT) {
      throw new ServeError(`there are no ${count} free ports from --worker-base-port ${base} on`);
    }
    const isFree = await search.isFree(port);
    if (isFree) ports.push(port);
    port += isFree ? 1 + Math.floor(search.random() * MAX_STEP) : 1;
  }
  return ports;
}

/** Whether a port can be listened on now. What takes it a moment later is found out by who listens. */
export function canBind(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => {
      resolve(false);
    });
    server.listen({ host, port, exclusive: true }, () => {
      server.close(() => {
        resolve(true);
      });
    });
  });
}
