import { type DynamicModule } from '@nestjs/common';
import { AdmissionModule } from '@smg/admission';
import { type GatewayConfig } from '@smg/config';
import { admissionSlice } from './slices';

/** Limits of requests as a module of the application. Loaded only by a process that enables them. */
export function admissionPlugin(config: GatewayConfig): DynamicModule {
  return AdmissionModule.forRoot(admissionSlice(config));
}
