import { classifyUpstreamError } from './upstream-failure';

const error = (code: string): Error => Object.assign(new Error('secret details'), { code });

it.each([
  ['ECONNREFUSED', 'cannot connect (ECONNREFUSED)'],
  [
    'SELF_SIGNED_CERT_IN_CHAIN',
    'cannot connect: certificate of an unknown authority (SELF_SIGNED_CERT_IN_CHAIN)',
  ],
  [
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'cannot connect: the certificate is for another host (ERR_TLS_CERT_ALTNAME_INVALID)',
  ],
  [
    'ERR_SSL_WRONG_VERSION_NUMBER',
    'cannot connect: the engine does not speak TLS (ERR_SSL_WRONG_VERSION_NUMBER)',
  ],
  [
    'ERR_WORKER_ADDRESS_REFUSED',
    'cannot connect: the address is not one workers may have (ERR_WORKER_ADDRESS_REFUSED)',
  ],
])('tells %s in words, without what the error says', (code, message) => {
  expect(classifyUpstreamError(error(code), false, false)).toMatchObject({
    kind: 'connect',
    message,
  });
});

it('takes an alert after the handshake for a refusal, until a head was read', () => {
  const alert = error('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED');
  expect(classifyUpstreamError(alert, true, false).kind).toBe('connect');
  expect(classifyUpstreamError(alert, true, true).kind).toBe('reset');
});

it('tells the first of several addresses', () => {
  const both = new AggregateError([error('ECONNREFUSED'), error('ENETUNREACH')]);
  expect(classifyUpstreamError(both, false, false).message).toBe('cannot connect (ECONNREFUSED)');
});
