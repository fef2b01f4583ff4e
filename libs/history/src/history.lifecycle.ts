import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { AnswerKeeper } from './core/answer-keeper';
import { type HistoryStore } from './core/history-store';
import { HISTORY_STORE } from './history.tokens';

/** Opens the store before anything is served; closes it when everything has been written. */
@Injectable()
export class HistoryLifecycle implements OnModuleInit, OnApplicationShutdown {
  constructor(
    @Inject(HISTORY_STORE) private readonly store: HistoryStore,
    private readonly keeper: AnswerKeeper,
  ) {}

  async onModuleInit(): Promise<void> {
    try {
      await this.store.open();
    } catch (error) {
      await this.store.close().catch(() => undefined);
      throw error;
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.keeper.drained();
    await this.store.close();
  }
}
