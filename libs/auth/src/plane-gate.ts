import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { type Plane, SERVING_AUTH } from '@smg/plugin-api';
import { ControlPlaneAuth, ServingKeyAuth } from './core/auth-policy';
import { decidePlane, type PlaneDecision } from './core/plane-decision';

/** Decides on a request by its plane; synchronous, so it can run before a body is read. */
@Injectable()
export class PlaneGate implements OnModuleInit {
  private readonly logger = new Logger('auth');

  constructor(
    @Inject(SERVING_AUTH) private readonly serving: ServingKeyAuth,
    private readonly control: ControlPlaneAuth,
  ) {}

  onModuleInit(): void {
    if (this.control.isOpen) {
      this.logger.warn(
        'no keys are configured: the serving plane and the control plane are open to everyone who can reach the port; set --api-key',
      );
    } else if (!this.control.canAdmit) {
      this.logger.warn(
        'only tenant keys are configured: the control plane refuses everyone; set --api-key to use it',
      );
    }
  }

  /**
   * For callers outside Nest's router, such as an `onRequest` hook or the data plane's own lane.
   * @param authorization raw header value.
   */
  authoriseRawRequest(plane: Plane, authorization: string | undefined): PlaneDecision {
    return decidePlane(plane, authorization, this.serving, this.control);
  }
}
