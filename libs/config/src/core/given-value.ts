import { type AnyOption } from './option';

/** Something given for an option, before it is read. */
export interface GivenValue {
  readonly option: AnyOption;
  /** How messages name the place: `--port`, `--jwt-issuer (JWT_ISSUER)`, `port (config file)`. */
  readonly label: string;
  readonly raw:
    | { readonly form: 'words'; readonly words: readonly string[] }
    | { readonly form: 'json'; readonly value: unknown };
}
