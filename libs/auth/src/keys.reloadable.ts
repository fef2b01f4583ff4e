import { Inject, Injectable, Logger } from '@nestjs/common';
import { type Reloadable } from '@smg/plugin-api';
import { AUTH_OPTIONS } from './auth.tokens';
import { type AuthOptions } from './core/auth-options';
import { buildKeySet, KeyHolder, type KeySet } from './core/key-set';
import { readKeyMaterial } from './key-files';

/** Reads the key files again; the new set is taken as a whole or the old one stays. */
@Injectable()
export class KeysReloadable implements Reloadable {
  readonly name = 'keys';

  constructor(
    @Inject(AUTH_OPTIONS) private readonly options: AuthOptions,
    private readonly holder: KeyHolder,
  ) {}

  async reload(): Promise<void> {
    this.holder.current = await loadKeys(this.options);
  }
}

/** @throws Error when a file or a key is unusable. */
export async function loadKeys(options: AuthOptions): Promise<KeySet> {
  const logger = new Logger('auth');
  const material = await readKeyMaterial(options, (message) => {
    logger.warn(message);
  });
  return buildKeySet(material, options.jwt !== undefined);
}
