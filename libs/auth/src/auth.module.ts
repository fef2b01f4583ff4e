import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, DiscoveryModule } from '@nestjs/core';
import { SERVING_AUTH } from '@smg/plugin-api';
import { AuthRejectionFilter } from './auth-rejection.filter';
import { AUTH_OPTIONS } from './auth.tokens';
import { type AuthOptions } from './core/auth-options';
import { ControlPlaneAuth, ServingKeyAuth } from './core/auth-policy';
import { PlaneAudit } from './plane-audit';
import { PlaneGate } from './plane-gate';
import { PlaneGuard } from './plane.guard';

/** Guards every route by its plane and provides SERVING_AUTH. Global. */
@Module({})
export class AuthModule {
  static forRoot(options: AuthOptions): DynamicModule {
    return {
      module: AuthModule,
      global: true,
      imports: [DiscoveryModule],
      providers: [
        { provide: AUTH_OPTIONS, useValue: options },
        {
          provide: SERVING_AUTH,
          inject: [AUTH_OPTIONS],
          useFactory: (given: AuthOptions) => new ServingKeyAuth(given),
        },
        {
          provide: ControlPlaneAuth,
          inject: [AUTH_OPTIONS],
          useFactory: (given: AuthOptions) => new ControlPlaneAuth(given),
        },
        PlaneGate,
        PlaneAudit,
        PlaneGuard,
        { provide: APP_GUARD, useExisting: PlaneGuard },
        { provide: APP_FILTER, useClass: AuthRejectionFilter },
      ],
      exports: [AUTH_OPTIONS, SERVING_AUTH, ControlPlaneAuth, PlaneGate],
    };
  }
}
