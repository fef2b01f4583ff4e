import { ConversationError } from './history-errors';
import { type PageQuery } from './history-store';
import { isPlainId } from './ids';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 100;

/** Reads `limit`, `order` and `after`; other parameters are not looked at. @throws ConversationError */
export function readPageQuery(query: Readonly<Record<string, unknown>>): PageQuery {
  return {
    limit: readLimit(query['limit']),
    order: readOrder(query['order']),
    after: readAfter(query['after']),
  };
}

function readLimit(value: unknown): number {
  if (value === undefined) return DEFAULT_LIMIT;
  const limit = typeof value === 'string' && /^\d{1,3}$/.test(value) ? Number(value) : 0;
  if (limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw new ConversationError(400, `limit must be a whole number from 1 to ${MAX_LIMIT}`);
}

function readOrder(value: unknown): 'asc' | 'desc' {
  if (value === undefined || value === 'desc') return 'desc';
  if (value === 'asc') return 'asc';
  throw new ConversationError(400, "order must be 'asc' or 'desc'");
}

function readAfter(value: unknown): string | undefined {
  if (value === undefined || value === '') return undefined;
  if (typeof value === 'string' && isPlainId(value)) return value;
  throw new ConversationError(400, 'after must be the id of an item');
}
