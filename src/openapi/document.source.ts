import { type INestApplication, Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import type * as Build from './build-document';

/** The OpenAPI document as it is sent. */
export interface SerialisedDocument {
  readonly json: string;
  readonly etag: string;
}

/** Makes the document when it is first asked for; until then nothing it needs is read from disk. */
@Injectable()
export class DocumentSource {
  private app: INestApplication | undefined;
  private made: SerialisedDocument | undefined;

  /** The application whose routes are described; before it listens. */
  attach(app: INestApplication): void {
    this.app = app;
  }

  get(): SerialisedDocument {
    this.made ??= this.make();
    return this.made;
  }

  private make(): SerialisedDocument {
    if (this.app === undefined) throw new Error('no application is attached');
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- an import would be read in every process
    const { buildDocument } = require('./build-document') as typeof Build;
    const json = JSON.stringify(buildDocument(this.app));
    const digest = createHash('sha256').update(json).digest('base64url').slice(0, 22);
    return { json, etag: `"${digest}"` };
  }
}
