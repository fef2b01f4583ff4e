import { type IncomingMessage } from 'node:http';
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { AuthRejection } from './auth-rejection';
import { type PlaneDecision } from './core/plane-decision';
import { PlaneGate } from './plane-gate';
import { planeOf } from './plane-of';

/** The one global guard: reads the route's plane and asks the gate. */
@Injectable()
export class PlaneGuard implements CanActivate {
  constructor(private readonly gate: PlaneGate) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    // PlaneAudit has refused unclassified routes; should one slip through, the strictest plane holds.
    const plane = planeOf(context.getHandler(), context.getClass()) ?? 'control';
    const { raw } = context.switchToHttp().getRequest<{ raw: IncomingMessage }>();
    const decision = this.gate.authorise(plane, raw);
    return decision instanceof Promise ? decision.then(admit) : admit(decision);
  }
}

function admit(decision: PlaneDecision): true {
  if (!decision.allowed) throw new AuthRejection(decision);
  return true;
}
