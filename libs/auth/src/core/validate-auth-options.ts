import { type AuthOptions } from './auth-options';
import { flagMaterial, validateMaterial } from './key-material';

/**
 * Refuses keys given as options that could not work or would be ambiguous.
 * @throws Error naming the option and, at most, the owner.
 */
export function validateAuthOptions(options: AuthOptions): void {
  validateMaterial(flagMaterial(options), options.jwt !== undefined);
}
