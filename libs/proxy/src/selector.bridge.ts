import { Injectable, type OnModuleInit } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import {
  type HeaderReader,
  type RequestRefusal,
  type SelectionContext,
  type SelectionOutcome,
  type WorkerPoolView,
  type WorkerView,
} from '@smg/plugin-api';
import { WorkerSelector } from '@smg/policy';
import { type Selector } from './run.services';

/**
 * The selector of the application's policy module. That module is configured by the application, and
 * importing its class here would make a second, unconfigured one; so its instance is looked up.
 */
@Injectable()
export class SelectorBridge implements Selector, OnModuleInit {
  private target: Selector | undefined;

  constructor(private readonly modules: ModuleRef) {}

  onModuleInit(): void {
    this.target = this.modules.get(WorkerSelector, { strict: false });
  }

  get refusesRequests(): boolean {
    return this.selector.refusesRequests;
  }

  refusalOf(header: HeaderReader): RequestRefusal | undefined {
    return this.selector.refusalOf(header);
  }

  select(pool: WorkerPoolView, context: SelectionContext, avoid?: WorkerView): SelectionOutcome {
    return this.selector.select(pool, context, avoid);
  }

  eligible(pool: WorkerPoolView, context: SelectionContext): ReturnType<Selector['eligible']> {
    return this.selector.eligible(pool, context);
  }

  pick(
    pool: WorkerPoolView,
    eligible: readonly WorkerView[],
    context: SelectionContext,
    avoid?: WorkerView,
  ): SelectionOutcome {
    return this.selector.pick(pool, eligible, context, avoid);
  }

  leastBusy(pool: WorkerPoolView, context: SelectionContext): SelectionOutcome {
    return this.selector.leastBusy(pool, context);
  }

  readsBody(model: string): boolean {
    return this.selector.readsBody(model);
  }

  private get selector(): Selector {
    if (this.target === undefined) throw new Error('a request before the application was ready');
    return this.target;
  }
}
