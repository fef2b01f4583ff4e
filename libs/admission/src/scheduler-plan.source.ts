import { Logger } from '@nestjs/common';
import { type Reloadable } from '@smg/plugin-api';
import { DEFAULT_PLAN, readSchedulerPlan, type SchedulerPlan } from './core/scheduler-file';
import { readSettingsFile } from './settings-file';

/** The file of classes and tenant policies, if there is one: read at the start, and again on SIGHUP. */
export class SchedulerPlanSource implements Reloadable {
  readonly name = 'priority-scheduler';
  private readonly logger = new Logger('admission');
  private apply: ((plan: SchedulerPlan) => void) | undefined;

  constructor(private readonly path: string | undefined) {}

  /** @throws Error that says what is wrong, and where. */
  read(): SchedulerPlan {
    if (this.path === undefined) return DEFAULT_PLAN;
    const text = readSettingsFile('priority-scheduler-config', this.path);
    const plan = readSchedulerPlan(text, this.path);
    this.logger.log(`${plan.maxClassOf.size} tenants have a highest class of their own`);
    return plan;
  }

  /** @param apply where a reload goes to. */
  attach(apply: (plan: SchedulerPlan) => void): void {
    this.apply = apply;
  }

  reload(): void {
    const plan = this.read();
    this.apply?.(plan);
  }
}
