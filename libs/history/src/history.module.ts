import { Module, type DynamicModule, type FactoryProvider } from '@nestjs/common';
import { ANSWER_RECORDER } from '@smg/plugin-api';
import { randomBytes } from 'node:crypto';
import { AnswerKeeper } from './core/answer-keeper';
import { Conversations } from './core/conversations';
import { type HistoryStore } from './core/history-store';
import { ObservedStore, type StoreClock } from './core/observed.store';
import { Responses } from './core/responses';
import { describeFault } from './connection-fault';
import { ConversationsController } from './conversations.controller';
import { EntryOwner } from './entry-owner';
import { HistoryLifecycle } from './history.lifecycle';
import { HistoryMetrics } from './history.metrics';
import { HISTORY_OPTIONS, type HistoryOptions } from './history.options';
import { HISTORY_STORE } from './history.tokens';
import { makeStore } from './open-store';
import { ResponseCancelController } from './response-cancel.controller';
import { ResponseCanceller } from './response.canceller';
import { ResponsesController } from './responses.controller';

/** Milliseconds for one operation of the store, the wait for a connection included. */
const DEADLINE_MS = 10_000;
const MIB = 1024 * 1024;
const KEEPER_LIMITS = Object.freeze({ answerBytes: 16 * MIB, waitingLength: 64 * MIB });

const clock: StoreClock = {
  now: () => performance.now(),
  alarm: (milliseconds, ring) => {
    const timer = setTimeout(ring, milliseconds);
    return () => {
      clearTimeout(timer);
    };
  },
};

const random = (bytes: number): string => randomBytes(bytes).toString('hex');

const store: FactoryProvider<HistoryStore> = {
  provide: HISTORY_STORE,
  inject: [HISTORY_OPTIONS, HistoryMetrics],
  useFactory: (options: HistoryOptions, metrics: HistoryMetrics): HistoryStore => {
    const { backend } = options;
    if (backend === 'none') throw new Error('there is no store to make');
    const url = (backend === 'postgres' ? options.postgresDbUrl : options.redisUrl) ?? '';
    const made = makeStore(
      { ...options, backend },
      {
        onConnections: (count) => {
          metrics.connected(backend, count);
        },
        onFault: (message) => {
          metrics.connectionBroke(message);
        },
      },
    );
    const observer = {
      done: metrics.done.bind(metrics),
      failed: (
        type: Parameters<HistoryMetrics['failed']>[0],
        operation: Parameters<HistoryMetrics['failed']>[1],
        cause: unknown,
      ) => {
        metrics.failed(type, operation, describeFault(cause, url));
      },
    };
    return new ObservedStore(made, observer, clock, DEADLINE_MS);
  },
};

const keeper: FactoryProvider<AnswerKeeper> = {
  provide: AnswerKeeper,
  inject: [HISTORY_STORE, HistoryMetrics],
  useFactory: (kept: HistoryStore, metrics: HistoryMetrics): AnswerKeeper =>
    new AnswerKeeper({
      store: kept,
      random,
      limits: KEEPER_LIMITS,
      onDropped: (reason) => {
        metrics.dropped(reason);
      },
    }),
};

const responses: FactoryProvider<Responses> = {
  provide: Responses,
  inject: [HISTORY_STORE, AnswerKeeper],
  useFactory: (kept: HistoryStore, writer: AnswerKeeper): Responses =>
    new Responses(kept, (owner, id) => writer.settled(owner, id)),
};

const conversations: FactoryProvider<Conversations> = {
  provide: Conversations,
  inject: [HISTORY_STORE, AnswerKeeper],
  useFactory: (kept: HistoryStore, writer: AnswerKeeper): Conversations =>
    new Conversations({
      store: kept,
      settled: (owner, id) => writer.settled(owner, id),
      random,
      now: () => Math.floor(Date.now() / 1000),
    }),
};

/** Stored responses and conversations. With `none` nothing is kept: only cancelling is there. */
@Module({})
export class HistoryModule {
  static forRoot(options: HistoryOptions): DynamicModule {
    const base = { module: HistoryModule, global: true };
    const cancelling = [EntryOwner, ResponseCanceller];
    if (options.backend === 'none') {
      return { ...base, controllers: [ResponseCancelController], providers: cancelling };
    }
    return {
      ...base,
      controllers: [ResponseCancelController, ResponsesController, ConversationsController],
      providers: [
        ...cancelling,
        { provide: HISTORY_OPTIONS, useValue: options },
        HistoryMetrics,
        store,
        keeper,
        { provide: ANSWER_RECORDER, useExisting: AnswerKeeper },
        responses,
        conversations,
        HistoryLifecycle,
      ],
      exports: [ANSWER_RECORDER],
    };
  }
}
