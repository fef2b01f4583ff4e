import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { AuthRejection } from './auth-rejection';
import { PlaneGate } from './plane-gate';
import { planeOf } from './plane-of';

/** The one global guard: reads the route's plane and asks the gate. */
@Injectable()
export class PlaneGuard implements CanActivate {
  constructor(private readonly gate: PlaneGate) {}

  canActivate(context: ExecutionContext): boolean {
    // PlaneAudit has refused unclassified routes; should one slip through, the strictest plane holds.
    const plane = planeOf(context.getHandler(), context.getClass()) ?? 'control';
    const request = context
      .switchToHttp()
      .getRequest<{ headers: { authorization?: string | undefined } }>();
    const decision = this.gate.authoriseRawRequest(plane, request.headers.authorization);
    if (!decision.allowed) throw new AuthRejection(decision);
    return true;
  }
}
