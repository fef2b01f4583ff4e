import { Logger } from '@nestjs/common';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { type Reloadable, RELOADABLE } from '@smg/plugin-api';
import { ExtensionCollector } from '@smg/plugin-host';

/** What SIGHUP does: every file-backed part reads its files again, each on its own. */
export class Reload {
  private readonly logger = new Logger('reload');
  private running: Promise<void> = Promise.resolve();

  constructor(private readonly parts: readonly Reloadable[]) {}

  static of(app: NestFastifyApplication): Reload {
    return new Reload(app.get(ExtensionCollector, { strict: false }).collect(RELOADABLE));
  }

  /** Never rejects: a part that fails keeps its old state and is named in the log. Calls queue up. */
  run(): Promise<void> {
    this.running = this.running.then(() => this.reloadAll());
    return this.running;
  }

  private async reloadAll(): Promise<void> {
    for (const part of this.parts) {
      try {
        await part.reload();
        this.logger.log(`${part.name}: read again`);
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        this.logger.error(`${part.name}: kept as it was: ${why}`);
      }
    }
  }
}
