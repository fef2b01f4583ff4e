import { type ListOutcome, type PageQuery, type StoredItem } from './history-store';

/** Cuts a page out of items in the order of their addition. */
export function pageOf(
  ascending: readonly StoredItem[],
  { limit, order, after }: PageQuery,
): ListOutcome {
  const ordered = order === 'asc' ? ascending : [...ascending].reverse();
  let from = 0;
  if (after !== undefined) {
    from = ordered.findIndex(({ id }) => id === after) + 1;
    if (from === 0) return { kind: 'unknown_item' };
  }
  const items = ordered.slice(from, from + limit);
  return { kind: 'page', items, isFull: items.length === limit };
}
