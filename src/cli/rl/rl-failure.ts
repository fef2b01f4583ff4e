/** Exit codes of `smg rl`. */
export const EXIT = { ok: 0, engines: 1, refused: 2 } as const;

/** Why `smg rl` gives up, in a sentence for its user. Holds no secret. */
export class RlFailure extends Error {
  override readonly name = 'RlFailure';

  constructor(
    message: string,
    /** What the program ends with. */
    readonly exitCode: number = EXIT.refused,
  ) {
    super(message);
  }
}
