import { createReadStream, readFileSync, statSync, type ReadStream } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** The files of Swagger UI that a browser gets, and no other. */
export const UI_FILES = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
} as const;

export type UiFile = keyof typeof UI_FILES;

interface Installed {
  readonly folder: string;
  readonly version: string;
}

/** Where `swagger-ui-dist` lies; looked for when first asked. */
export class UiFiles {
  private installed: Installed | undefined;

  /** Identifies the bytes of a file. */
  etagOf(file: UiFile): string {
    return `"${file}-${this.find().version}"`;
  }

  sizeOf(file: UiFile): number {
    return statSync(this.pathOf(file)).size;
  }

  open(file: UiFile): ReadStream {
    return createReadStream(this.pathOf(file));
  }

  private pathOf(file: UiFile): string {
    return join(this.find().folder, file);
  }

  private find(): Installed {
    if (this.installed === undefined) {
      // A dependency of @nestjs/swagger: found from there wherever a package manager put it.
      const nestSwagger = createRequire(require.resolve('@nestjs/swagger'));
      const manifest = nestSwagger.resolve('swagger-ui-dist/package.json');
      const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };
      this.installed = { folder: dirname(manifest), version };
    }
    return this.installed;
  }
}
