import { Injectable, type OnModuleInit } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import {
  type Affinity,
  type HeaderReader,
  type RequestRefusal,
  type SelectionContext,
  type SelectionOutcome,
  type WorkerPoolView,
  type WorkerView,
} from '@smg/plugin-api';
import { WorkerSelector } from '@smg/policy';
import { conversationOf } from './core/affinity-key';
import { type Selector } from './run.services';

/**
 * The selector of the application's policy module. That module is configured by the application, and
 * importing its class here would make a second, unconfigured one; so its instance is looked up.
 */
@Injectable()
export class SelectorBridge implements Selector, Affinity, OnModuleInit {
  private target: WorkerSelector | undefined;

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

  /** A conversation is over. @param key as its requests brought it, with or without their turn. */
  forget(key: string): void {
    this.selector.forgetKey(key);
    const conversation = conversationOf(key);
    if (conversation !== key) this.selector.forgetKey(conversation);
  }

  readsBody(model: string): boolean {
    return this.selector.readsBody(model);
  }

  private get selector(): WorkerSelector {
    if (this.target === undefined) throw new Error('a request before the application was ready');
    return this.target;
  }
}
