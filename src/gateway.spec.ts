import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { type GatewayConfig } from '@smg/config';
import { Gateway } from './gateway';

function gatewayWhoseListenFails(error: Error): Gateway {
  const app = { listen: () => Promise.reject(error) } as unknown as NestFastifyApplication;
  const config = { listener: { host: '127.0.0.1', port: 30000 } } as GatewayConfig;
  return new Gateway(app, config);
}

describe('Gateway', () => {
  it('names the flag and the reason when the main port cannot be had', async () => {
    const taken = Object.assign(new Error('listen EADDRINUSE'), { code: 'EADDRINUSE' });
    await expect(gatewayWhoseListenFails(taken).listen()).rejects.toMatchObject({
      message:
        '--port: cannot listen on 127.0.0.1 port 30000: the address is already in use (EADDRINUSE)',
      cause: taken,
    });
  });
});
