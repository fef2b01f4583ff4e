/** A body that cannot be read as asked; answered in plain text. Source: SMG contract 2.3. */
export class BodyRejected extends Error {
  override readonly name = 'BodyRejected';

  constructor(
    readonly status: 400 | 415 | 422,
    message: string,
  ) {
    super(message);
  }
}
