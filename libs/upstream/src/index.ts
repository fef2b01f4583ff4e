export {
  buildRequestHeaders,
  readResponseHeaders,
  type RelayHeaders,
  type RequestCredentials,
} from './core/hop-headers';
export { type UpstreamFailure, type UpstreamFailureKind } from './core/upstream-failure';
export { type WorkerTlsFiles } from './core/tls-material';
export { UPSTREAM_OPTIONS, type UpstreamOptions } from './upstream.options';
export {
  UPSTREAM_TRANSPORT,
  type UpgradeHandler,
  type UpstreamBodySource,
  type UpstreamCall,
  type UpstreamHandler,
  type UpstreamRequest,
  type UpstreamTransport,
  type UpstreamTunnel,
} from './upstream.transport';
export { UpstreamModule } from './upstream.module';
