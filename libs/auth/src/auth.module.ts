import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, DiscoveryModule } from '@nestjs/core';
import { METRICS, type Metrics, RELOADABLE, SERVING_AUTH } from '@smg/plugin-api';
import { AuthRejectionFilter } from './auth-rejection.filter';
import { AuthMetrics } from './auth.metrics';
import { AUTH_OPTIONS, TOKEN_KEEPER } from './auth.tokens';
import { type AuthOptions } from './core/auth-options';
import { ControlPlaneAuth } from './core/control-plane-auth';
import { KeyHolder } from './core/key-set';
import { ServingKeyAuth } from './core/serving-key-auth';
import { JwksReloadable } from './jwks.reloadable';
import { KeysReloadable, loadKeys } from './keys.reloadable';
import { PlaneAudit } from './plane-audit';
import { PlaneGate } from './plane-gate';
import { PlaneGuard } from './plane.guard';
import { TokenKeeper, type TokenPorts } from './token.keeper';

const MAKERS: Provider[] = [
  {
    provide: AuthMetrics,
    inject: [{ token: METRICS, optional: true }],
    useFactory: (metrics: Metrics | undefined) => new AuthMetrics(metrics),
  },
  {
    provide: KeyHolder,
    inject: [AUTH_OPTIONS],
    useFactory: async (options: AuthOptions) => new KeyHolder(await loadKeys(options)),
  },
  {
    provide: SERVING_AUTH,
    inject: [KeyHolder, AuthMetrics],
    useFactory: (keys: KeyHolder, metrics: AuthMetrics) =>
      new ServingKeyAuth(keys, (reason) => {
        metrics.refused('data', reason);
      }),
  },
  {
    provide: ControlPlaneAuth,
    inject: [KeyHolder, { token: TOKEN_KEEPER, optional: true }],
    useFactory: (keys: KeyHolder, tokens: TokenKeeper | undefined) =>
      new ControlPlaneAuth(keys, tokens),
  },
];

/** Guards every route by its plane and provides SERVING_AUTH. Global. */
@Module({})
export class AuthModule {
  /** @param ports for tests. */
  static forRoot(options: AuthOptions, ports: TokenPorts = {}): DynamicModule {
    const { jwt } = options;
    const hasFiles = [
      options.apiKeyFile,
      options.tenantApiKeysFile,
      options.controlPlaneApiKeysFile,
    ].some((path) => path !== undefined);
    return {
      module: AuthModule,
      global: true,
      imports: [DiscoveryModule],
      providers: [
        { provide: AUTH_OPTIONS, useValue: options },
        {
          provide: TOKEN_KEEPER,
          // The holder comes first: unusable keys are reported before an issuer is waited for.
          inject: [AuthMetrics, KeyHolder],
          useFactory: async (metrics: AuthMetrics) =>
            jwt === undefined ? undefined : TokenKeeper.start(jwt, metrics, ports),
        },
        ...MAKERS,
        PlaneGate,
        PlaneAudit,
        PlaneGuard,
        { provide: APP_GUARD, useExisting: PlaneGuard },
        { provide: APP_FILTER, useClass: AuthRejectionFilter },
        ...(hasFiles ? RELOADABLE.provide(KeysReloadable) : []),
        ...(jwt === undefined ? [] : RELOADABLE.provide(JwksReloadable)),
      ],
      exports: [AUTH_OPTIONS, SERVING_AUTH, ControlPlaneAuth, PlaneGate],
    };
  }
}
