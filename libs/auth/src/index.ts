export { AuthModule } from './auth.module';
export { AUTH_OPTIONS } from './auth.tokens';
export { validateAuthOptions } from './core/validate-auth-options';
export {
  type AuthOptions,
  type ControlPlaneKey,
  type JwtOptions,
  type RoleMapping,
  type TenantKey,
} from './core/auth-options';
export {
  ControlPlaneAuth,
  type ControlDecision,
  type ControlMode,
} from './core/control-plane-auth';
export { ServingKeyAuth } from './core/serving-key-auth';
export { type PlaneDecision, type PlaneRejection } from './core/plane-decision';
export { readSharedKeyFile } from './key-files';
export { type TokenPorts } from './token.keeper';
export { PlaneGate, type RequestFacts } from './plane-gate';
export { PlaneGuard } from './plane.guard';
export { PlaneAudit } from './plane-audit';
export { planeOf } from './plane-of';
export { AuthRejection } from './auth-rejection';
export { AuthRejectionFilter, sendRejection, type RejectionReply } from './auth-rejection.filter';
