/** A request about conversations that is refused; has an envelope of its own. */
export class ConversationError extends Error {
  override readonly name = 'ConversationError';

  /** @param code makes it an OpenAI error object; without one the body is `{"error":"<message>"}`. */
  constructor(
    readonly status: 400 | 404,
    message: string,
    readonly code?: string,
  ) {
    super(message);
  }

  body(): object {
    const { message, code } = this;
    return code === undefined
      ? { error: message }
      : { error: { message, type: 'invalid_request_error', param: 'items', code } };
  }
}

/** The store failed, or did not answer in time. The cause is for the log alone. */
export class StorageError extends Error {
  override readonly name = 'StorageError';

  constructor(cause: unknown) {
    super('The store of responses and conversations does not answer', { cause });
  }
}
