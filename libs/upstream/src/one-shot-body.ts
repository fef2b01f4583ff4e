/**
 * A request body that is let go once it is written. The client library keeps what it is given until
 * the answer is complete, which for a stream may be hours; a large prompt must not stay that long.
 */
export class OneShotBody implements Iterable<Buffer> {
  constructor(private bytes: Buffer | undefined) {}

  *[Symbol.iterator](): Iterator<Buffer> {
    const { bytes } = this;
    this.bytes = undefined;
    if (bytes !== undefined) yield bytes;
  }
}
