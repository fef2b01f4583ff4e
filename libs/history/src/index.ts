export { HistoryModule } from './history.module';
export { HISTORY_OPTIONS, type HistoryBackend, type HistoryOptions } from './history.options';
export { makeStore, MEMORY_LIMITS, type StoreListener } from './open-store';
export { MemoryStore, type MemoryLimits } from './core/memory.store';
export {
  type AddOutcome,
  type HistoryStore,
  type ItemToAdd,
  type ListOutcome,
  type Metadata,
  type PageQuery,
  type StoredConversation,
  type StoredItem,
  type StoredResponse,
} from './core/history-store';
