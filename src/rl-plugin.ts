import { type DynamicModule } from '@nestjs/common';
import { type GatewayConfig } from '@smg/config';
import { RlModule } from '@smg/rl';
import { rlSlice } from './slices';

/** The RL control plane as a module of the application. Loaded only by a process that enables it. */
export function rlPlugin(config: GatewayConfig): DynamicModule {
  return RlModule.forRoot(rlSlice(config));
}
