import { type ControlPlaneAuth } from './control-plane-auth';
import { type ServingKeyAuth } from './serving-key-auth';

/** What the configuration leaves open, or closes for good: one warning each, said at the start. */
export function exposureWarnings(
  serving: ServingKeyAuth,
  control: ControlPlaneAuth,
): readonly string[] {
  if (control.mode === 'open') {
    return [
      'no keys are configured: the serving plane and the control plane are open to everyone who can reach the port, web pages in a browser beside it included; set --api-key',
    ];
  }
  if (control.mode === 'closed') {
    return [
      'only tenant keys are configured: the control plane refuses everyone; set --api-key, --control-plane-api-keys or --jwt-issuer to use it',
    ];
  }
  const warnings: string[] = [];
  if (serving.isOpen) {
    warnings.push(
      'no serving keys are configured: the serving plane is open to everyone who can reach the port; set --api-key or --tenant-api-key',
    );
  }
  if (!control.canAdmit) {
    warnings.push(
      'no control-plane key has the role admin: the control plane refuses everyone; add one, or set --jwt-issuer',
    );
  }
  return warnings;
}
