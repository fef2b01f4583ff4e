import { buildRequestHeaders, readResponseHeaders } from '@smg/upstream';
import { type MicroSuite, repeat } from '../micro-suite';

const CLIENT_HEADERS = [
  ...['host', 'gateway:30000', 'connection', 'keep-alive', 'user-agent', 'openai-python/1.0'],
  ...['authorization', 'Bearer sk-0123456789abcdef', 'content-type', 'application/json'],
  ...['accept', 'application/json', 'accept-encoding', 'gzip, deflate', 'content-length', '1040'],
  ...['x-request-id', 'req-0123456789', 'x-smg-routing-key', 'conversation-17'],
  ...['traceparent', '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'],
];

const ENGINE_HEADERS = [
  ...['date', 'Sun, 29 Nov 2026 12:00:00 GMT', 'server', 'uvicorn', 'content-length', '1009'],
  ...['content-type', 'application/json', 'connection', 'keep-alive', 'x-smg-forged', 'no'],
];

/** Headers on their way to an engine and back. */
export const headersSuite: MicroSuite = {
  name: 'headers',
  prepare() {
    const credentials = { passAuthorization: false, workerKey: 'worker-key' };
    return [
      repeat(
        'request, 11 headers in',
        () => buildRequestHeaders(CLIENT_HEADERS, credentials, true).length,
      ),
      repeat('response, 6 headers in', () => readResponseHeaders(ENGINE_HEADERS).headers.length),
    ];
  },
};
