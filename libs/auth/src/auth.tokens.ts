/** Token of the {@link AuthOptions} given to `AuthModule.forRoot`. */
export const AUTH_OPTIONS = 'smg:auth-options';
