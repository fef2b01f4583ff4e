import { ConversationError } from './history-errors';
import { type ItemToAdd } from './history-store';
import { isItemType, isPlainId, newItemId, type RandomHex } from './ids';

/** Items of one call. Source: SMG contract 2.7. */
const MAX_ITEMS = 20;

type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Items for a conversation, as a client sent them. @throws ConversationError */
export function readItems(value: unknown, random: RandomHex): readonly ItemToAdd[] {
  if (!Array.isArray(value)) throw new ConversationError(400, 'items must be an array');
  if (value.length > MAX_ITEMS) {
    throw new ConversationError(
      400,
      `Cannot add more than ${MAX_ITEMS} items at once, got ${value.length}`,
    );
  }
  const items = value.map((item: unknown, index) => readItem(item, index, random));
  const seen = new Set<string>();
  for (const { id } of items) {
    if (seen.has(id)) throw alreadyThere(id);
    seen.add(id);
  }
  return items;
}

export function alreadyThere(id: string): ConversationError {
  return new ConversationError(
    400,
    `The conversation has the item '${id}' already`,
    'item_already_in_conversation',
  );
}

function readItem(item: unknown, index: number, random: RandomHex): ItemToAdd {
  if (!isObject(item)) throw new ConversationError(400, `items[${index}] must be an object`);
  const type = typeOf(item);
  const given = readId(item, index);
  if (type === 'item_reference') {
    if (given === undefined) {
      throw new ConversationError(400, `items[${index}]: an item_reference needs an id`);
    }
    return { kind: 'reference', id: given };
  }
  if (type === undefined || !isItemType(type)) {
    const shown = type === undefined ? 'none' : JSON.stringify(type.slice(0, 64));
    throw new ConversationError(400, `items[${index}]: unsupported item type ${shown}`);
  }
  try {
    return newItem(item, given ?? newItemId(type, random), type);
  } catch {
    // The one thing that cannot be written again is what was only just read.
    throw new ConversationError(400, `items[${index}]: is nested too deeply`);
  }
}

/** What has a role and no type is a message. */
function typeOf(item: JsonObject): string | undefined {
  const type = item['type'];
  if (typeof type === 'string') return type;
  return type === undefined && typeof item['role'] === 'string' ? 'message' : undefined;
}

function readId({ id }: JsonObject, index: number): string | undefined {
  if (id === undefined || id === null) return undefined;
  if (typeof id === 'string' && isPlainId(id)) return id;
  throw new ConversationError(
    400,
    `items[${index}]: an id has 1 to 256 letters, digits, '_', '-', '.' or ':'`,
  );
}

/** An item as it is stored: with its id and type, all else as it came. */
export type NewItem = Extract<ItemToAdd, { kind: 'item' }> & { readonly type: string };

export function newItem(item: JsonObject, id: string, type: string): NewItem {
  return { kind: 'item', id, type, body: JSON.stringify({ ...item, id, type }) };
}

/**
 * The `input` of a request as items: a text is one message of the user. Never refuses: an engine has
 * accepted the request.
 */
export function inputItemsOf(input: unknown, random: RandomHex): readonly NewItem[] {
  if (typeof input === 'string') {
    const content = [{ type: 'input_text', text: input }];
    return [newItem({ role: 'user', content }, newItemId('message', random), 'message')];
  }
  if (!Array.isArray(input)) return [];
  return input.filter(isObject).map((item) => keptItem(item, random));
}

/** Items of an answer's `output`, for the conversation it is part of. */
export function keptItem(item: JsonObject, random: RandomHex): NewItem {
  const type = typeOf(item) ?? 'message';
  const { id } = item;
  const isUsable = typeof id === 'string' && isPlainId(id);
  return newItem(item, isUsable ? id : newItemId(type, random), type);
}
