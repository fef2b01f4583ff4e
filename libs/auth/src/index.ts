export { AuthModule } from './auth.module';
export { AUTH_OPTIONS } from './auth.tokens';
export {
  parseTenantKey,
  validateAuthOptions,
  type AuthOptions,
  type TenantKey,
} from './core/auth-options';
export { ControlPlaneAuth, ServingKeyAuth, type ControlDecision } from './core/auth-policy';
export { type PlaneDecision, type PlaneRejection } from './core/plane-decision';
export { PlaneGate } from './plane-gate';
export { PlaneGuard } from './plane.guard';
export { PlaneAudit } from './plane-audit';
export { planeOf } from './plane-of';
export { AuthRejection } from './auth-rejection';
export { AuthRejectionFilter, sendRejection, type RejectionReply } from './auth-rejection.filter';
