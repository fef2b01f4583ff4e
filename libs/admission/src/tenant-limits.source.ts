import { Logger } from '@nestjs/common';
import { type Reloadable } from '@smg/plugin-api';
import { type TenantLedger } from './core/tenant-ledger';
import { type TenantLimits } from './core/tenant-limits';
import { readTenantLimits } from './core/tenant-limits-file';
import { readSettingsFile } from './settings-file';

/** The file of limits: read at the start, and again on SIGHUP. */
export class TenantLimitsSource implements Reloadable {
  readonly name = 'tenant-limits';
  private readonly logger = new Logger('admission');

  constructor(private readonly path: string) {}

  private ledger: TenantLedger | undefined;

  /** @throws Error that says what is wrong, and where. */
  read(): TenantLimits {
    const text = readSettingsFile('tenant-rate-limit-config', this.path);
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
