import { type DynamicModule, Module } from '@nestjs/common';
import { AuditModule } from '@smg/audit';
import { AuthModule } from '@smg/auth';
import { CompatModule } from '@smg/compat';
import { type GatewayConfig } from '@smg/config';
import { EngineModule } from '@smg/engine';
import { HistoryModule } from '@smg/history';
import { GatewayLog, ObservabilityModule } from '@smg/observability';
import { type PluginModule } from '@smg/plugin-host';
import { PolicyModule } from '@smg/policy';
import { ProxyModule } from '@smg/proxy';
import { RegistryModule } from '@smg/registry';
import { UpstreamModule } from '@smg/upstream';
import type * as AdmissionPlugin from './admission-plugin';
import { OpenApiModule } from './openapi/openapi.module';
import type * as RlPlugin from './rl-plugin';
import {
  auditSlice,
  authSlice,
  compatSlice,
  historySlice,
  limitsRequests,
  observabilitySlice,
  policySlice,
  proxySlice,
  registrySlice,
  upstreamSlice,
} from './slices';

/** The application: every module with its slice of the configuration, and the plug-ins. */
@Module({})
export class GatewayModule {
  static forRoot(
    config: GatewayConfig,
    plugins: readonly PluginModule[],
    log?: GatewayLog,
    sharedKey: string | undefined = config.auth.apiKey,
  ): DynamicModule {
    const policy = PolicyModule.forRoot(policySlice(config));
    return {
      module: GatewayModule,
      imports: [
        ObservabilityModule.forRoot(observabilitySlice(config, log)),
        AuditModule.forRoot(auditSlice(config), GatewayLog),
        AuthModule.forRoot(authSlice(config)),
        UpstreamModule.forRoot(upstreamSlice(config)),
        EngineModule,
        RegistryModule.forRoot(registrySlice(config, sharedKey)),
        policy,
        HistoryModule.forRoot(historySlice(config)),
        ProxyModule.forRoot(proxySlice(config)),
        CompatModule.forRoot(compatSlice(config)),
        ...(config.listener.docsDisabled ? [] : [OpenApiModule]),
        ...(limitsRequests(config) ? [loadAdmissionPlugin()(config)] : []),
        ...(config.rl.enabled ? [loadRlPlugin()(config)] : []),
        ...plugins,
      ],
    };
  }
}

/** Inert when off: neither the control plane nor what it needs is read from disk. */
function loadRlPlugin(): (config: GatewayConfig) => DynamicModule {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- an import would be read in every process
  return (require('./rl-plugin') as typeof RlPlugin).rlPlugin;
}

/** Inert when off: neither the limits nor the reader of their file is read from disk. */
function loadAdmissionPlugin(): (config: GatewayConfig) => DynamicModule {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- an import would be read in every process
  return (require('./admission-plugin') as typeof AdmissionPlugin).admissionPlugin;
}
