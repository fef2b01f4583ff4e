/** Why `smg serve` cannot go on, in a sentence for its user; holds no secret. */
export class ServeError extends Error {
  override readonly name = 'ServeError';
}
