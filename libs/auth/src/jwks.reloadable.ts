import { Inject, Injectable } from '@nestjs/common';
import { type Reloadable } from '@smg/plugin-api';
import { TOKEN_KEEPER } from './auth.tokens';
import { type TokenKeeper } from './token.keeper';

/** Fetches the issuer's keys at once when an operator asks. */
@Injectable()
export class JwksReloadable implements Reloadable {
  readonly name = 'jwks';

  constructor(@Inject(TOKEN_KEEPER) private readonly keeper: TokenKeeper | undefined) {}

  async reload(): Promise<void> {
    await this.keeper?.refresh();
  }
}
