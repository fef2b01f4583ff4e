import { HttpException } from '@nestjs/common';
import { type PlaneRejection } from './core/plane-decision';

/** Thrown by the guard; {@link AuthRejectionFilter} writes it exactly as `rejection` says. */
export class AuthRejection extends HttpException {
  readonly rejection: PlaneRejection;

  constructor(rejection: PlaneRejection) {
    super(rejection.body, rejection.status);
    this.rejection = rejection;
  }
}
