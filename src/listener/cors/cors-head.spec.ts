import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { writeCorsHeaders } from './cors-head';

const OURS = ['access-control-allow-origin', 'https://a', 'vary', 'Origin'];

/** The head a client sees of what `answer` writes. */
async function headOf(answer: (response: ServerResponse) => void): Promise<IncomingMessage> {
  const server = createServer((_request, response) => {
    writeCorsHeaders(response, OURS);
    answer(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await new Promise((resolve, reject) => {
      get({ port: (server.address() as AddressInfo).port, agent: false }, (incoming) => {
        incoming.resume();
        incoming.on('end', () => {
          resolve(incoming);
        });
      }).on('error', reject);
    });
  } finally {
    server.close();
  }
}

const FOREIGN = {
  'Access-Control-Allow-Origin': '*',
  'access-control-allow-credentials': 'true',
  'x-other': '1',
};

const WAYS: readonly (readonly [string, (response: ServerResponse) => void])[] = [
  [
    'a list',
    (response) => {
      response.writeHead(418, Object.entries(FOREIGN).flat()).end();
    },
  ],
  [
    'an object',
    (response) => {
      response.writeHead(418, FOREIGN).end();
    },
  ],
  [
    'a reason and an object',
    (response) => {
      response.writeHead(418, 'No', FOREIGN).end();
    },
  ],
  [
    'headers one by one',
    (response) => {
      response.statusCode = 418;
      for (const [name, value] of Object.entries(FOREIGN)) response.setHeader(name, value);
      response.end('body');
    },
  ],
  [
    'headers one by one and a status',
    (response) => {
      for (const [name, value] of Object.entries(FOREIGN)) response.setHeader(name, value);
      response.writeHead(418).end();
    },
  ],
  [
    'headers one by one and an object',
    (response) => {
      response.setHeader('Access-Control-Allow-Credentials', 'true');
      response.writeHead(418, { 'x-other': '1', 'access-control-allow-origin': '*' }).end();
    },
  ],
];

describe('writeCorsHeaders', () => {
  it.each(WAYS)('replaces foreign CORS headers of an answer written as %s', async (_, answer) => {
    const { statusCode, headers } = await headOf(answer);
    expect(statusCode).toBe(418);
    expect(headers['access-control-allow-origin']).toBe('https://a');
    expect(headers['access-control-allow-credentials']).toBeUndefined();
    expect(headers.vary).toBe('Origin');
    expect(headers['x-other']).toBe('1');
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ['a list', (response) => response.writeHead(200, ['Vary', 'Accept-Encoding']).end()],
    ['an object', (response) => response.writeHead(200, { vary: 'Accept-Encoding' }).end()],
    ['single headers', (response) => response.setHeader('Vary', 'Accept-Encoding').end()],
  ])('keeps what else an answer varies by: %s', async (_, answer) => {
    expect((await headOf(answer)).headers.vary).toBe('Accept-Encoding, Origin');
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ['a list', (response) => response.writeHead(200, ['vary', 'origin']).end()],
    ['an object', (response) => response.writeHead(200, { vary: 'origin' }).end()],
    ['single headers', (response) => response.setHeader('vary', 'origin').end()],
  ])('says Origin once: %s', async (_, answer) => {
    expect((await headOf(answer)).headers.vary?.toLowerCase()).toBe('origin');
  });

  it('keeps repeats', async () => {
    const list = await headOf((response) =>
      response.writeHead(200, ['set-cookie', 'a=1', 'set-cookie', 'b=2']).end(),
    );
    expect(list.headers['set-cookie']).toEqual(['a=1', 'b=2']);
    const object = await headOf((response) =>
      response.writeHead(200, { 'set-cookie': ['a=1', 'b=2'] }).end(),
    );
    expect(object.headers['set-cookie']).toEqual(['a=1', 'b=2']);
  });
});
