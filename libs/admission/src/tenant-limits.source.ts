import { Logger } from '@nestjs/common';
import { type Reloadable } from '@smg/plugin-api';
import { readFileSync } from 'node:fs';
import { type TenantLedger } from './core/tenant-ledger';
import { type TenantLimits } from './core/tenant-limits';
import { readTenantLimits } from './core/tenant-limits-file';

/** The file of limits: read at the start, and again on SIGHUP. */
export class TenantLimitsSource implements Reloadable {
  readonly name = 'tenant-limits';
  private readonly logger = new Logger('admission');

  constructor(private readonly path: string) {}

  private ledger: TenantLedger | undefined;

  /** @throws Error that says what is wrong, and where. */
  read(): TenantLimits {
    let text: string;
    try {
      text = readFileSync(this.path, 'utf8');
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? 'unreadable';
      throw new Error(`--tenant-rate-limit-config: cannot read ${this.path}: ${code}`, {
        cause: error,
      });
    }
    const limits = readTenantLimits(text, this.path);
    const others = limits.defaultPolicy === undefined ? 'nobody else' : 'everybody else';
    this.logger.log(`${limits.count} tenants have limits of their own, and ${others} the default`);
    return limits;
  }

  /** The ledger a reload goes to. */
  attach(ledger: TenantLedger): void {
    this.ledger = ledger;
  }

  reload(): void {
    const limits = this.read();
    this.ledger?.replace(limits);
  }
}
