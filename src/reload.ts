import { Logger } from '@nestjs/common';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { type Reloadable, RELOADABLE } from '@smg/plugin-api';
import { ExtensionCollector } from '@smg/plugin-host';

/**
 * What SIGHUP does: every file-backed part reads its files again, each on its own. A part that waits
 * for an issuer or a disk that does not answer keeps no other from taking new keys.
 */
export class Reload {
  private readonly parts: readonly ReloadedPart[];

  constructor(parts: readonly Reloadable[]) {
    this.parts = parts.map((part) => new ReloadedPart(part));
  }

  static of(app: NestFastifyApplication): Reload {
    return new Reload(app.get(ExtensionCollector, { strict: false }).collect(RELOADABLE));
  }

  /** Never rejects: a part that fails keeps its old state and is named in the log. */
  async run(): Promise<void> {
    await Promise.all(this.parts.map((part) => part.run()));
  }
}

/** One part, of which no two reloads run at the same time. */
class ReloadedPart {
  private readonly logger = new Logger('reload');
  private running: Promise<void> = Promise.resolve();
  private waiting: Promise<void> | undefined;

  constructor(private readonly part: Reloadable) {}

  /** Whoever asks while one runs shares the next: the one that runs may have read its files already. */
  run(): Promise<void> {
    this.waiting ??= this.running.then(() => {
      this.waiting = undefined;
      this.running = this.reload();
      return this.running;
    });
    return this.waiting;
  }

  private async reload(): Promise<void> {
    const { part, logger } = this;
    try {
      await part.reload();
      logger.log(`${part.name}: read again`);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      logger.error(`${part.name}: kept as it was: ${why}`);
    }
  }
}
