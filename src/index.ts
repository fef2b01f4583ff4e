export { createGateway, type CreateGatewayOptions } from './create-gateway';
export { Gateway } from './gateway';
export { GatewayModule } from './gateway.module';
export {
  ConfigError,
  loadConfig,
  type GatewayConfig,
  type PartialGatewayConfig,
} from '@smg/config';
