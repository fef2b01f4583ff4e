/** Token of the {@link AuthOptions} given to `AuthModule.forRoot`. */
export const AUTH_OPTIONS = 'smg:auth-options';

/** Token of the TokenKeeper; undefined where tokens are not configured. */
export const TOKEN_KEEPER = 'smg:token-keeper';
