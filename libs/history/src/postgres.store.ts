import { Pool, type PoolClient } from 'pg';
import { describeFault, placeOf } from './connection-fault';
import {
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
import { bringUpToDate } from './postgres.schema';

/** Milliseconds. */
const CONNECT_MS = 5_000;
const STATEMENT_MS = 8_000;
const IDLE_MS = 30_000;
/** A server that hangs does not say good-bye. */
const CLOSE_MS = 2_000;

export interface PostgresStoreOptions {
  readonly url: string;
  readonly maxConnections: number;
  /** The number of open connections, whenever it changes. */
  readonly onConnections: (count: number) => void;
  /** A connection that nobody used broke. */
  readonly onFault: (message: string) => void;
}

/** Ends a transaction in good order without keeping what it did. */
class Undone<T> extends Error {
  constructor(readonly outcome: T) {
    super('undone');
  }
}

interface ItemRow {
  readonly id: string;
  readonly body: string;
}

interface ConversationRow {
  readonly created_at: string;
  readonly metadata: string | null;
}

/** Keeps everything in PostgreSQL. Connections are made when needed, and made anew when one broke. */
export class PostgresStore implements HistoryStore {
  private readonly pool: Pool;

  constructor(private readonly options: PostgresStoreOptions) {
    const { url, maxConnections, onConnections, onFault } = options;
    this.pool = new Pool({
      connectionString: url,
      max: maxConnections,
      connectionTimeoutMillis: CONNECT_MS,
      idleTimeoutMillis: IDLE_MS,
      query_timeout: STATEMENT_MS,
      statement_timeout: STATEMENT_MS,
      idle_in_transaction_session_timeout: STATEMENT_MS,
      keepAlive: true,
      application_name: 'smg-gateway',
    });
    const count = (): void => {
      onConnections(this.pool.totalCount);
    };
    this.pool.on('connect', count);
    this.pool.on('remove', count);
    this.pool.on('error', (error) => {
      onFault(describeFault(error, url));
    });
  }

  async open(): Promise<void> {
    try {
      await this.inTransaction(bringUpToDate);
    } catch (error) {
      const { url } = this.options;
      throw new Error(
        `cannot use the PostgreSQL database at ${placeOf(url)}: ${describeFault(error, url)}`,
      );
    }
  }

  async close(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, CLOSE_MS);
    });
    try {
      await Promise.race([this.pool.end(), limit]);
    } finally {
      clearTimeout(timer);
    }
  }

  async putResponse(owner: string, { id, body, inputItems }: StoredResponse): Promise<void> {
    await this.pool.query(
      `INSERT INTO smg_responses (owner, id, body, input_items) VALUES ($1, $2, $3, $4)
       ON CONFLICT (owner, id) DO UPDATE SET body = excluded.body, input_items = excluded.input_items`,
      [owner, id, body, inputItems],
    );
  }

  async response(owner: string, id: string): Promise<StoredResponse | undefined> {
    const { rows } = await this.pool.query<{ body: string; input_items: string }>(
      'SELECT body, input_items FROM smg_responses WHERE owner = $1 AND id = $2',
      [owner, id],
    );
    const [row] = rows;
    return row === undefined ? undefined : { id, body: row.body, inputItems: row.input_items };
  }

  async deleteResponse(owner: string, id: string): Promise<boolean> {
    const text = 'DELETE FROM smg_responses WHERE owner = $1 AND id = $2';
    return (await this.pool.query(text, [owner, id])).rowCount === 1;
  }

  async putConversation(
    owner: string,
    { id, createdAt, metadata }: StoredConversation,
  ): Promise<void> {
    await this.pool.query(
      `INSERT INTO smg_conversations (owner, id, created_at, metadata) VALUES ($1, $2, $3, $4)
       ON CONFLICT (owner, id) DO UPDATE SET created_at = excluded.created_at, metadata = excluded.metadata`,
      [owner, id, createdAt, textOf(metadata)],
    );
  }

  async conversation(owner: string, id: string): Promise<StoredConversation | undefined> {
    const { rows } = await this.pool.query<ConversationRow>(
      'SELECT created_at, metadata FROM smg_conversations WHERE owner = $1 AND id = $2',
      [owner, id],
    );
    return conversationOf(id, rows[0]);
  }

  changeMetadata(
    owner: string,
    id: string,
    change: (metadata: Metadata | undefined) => Metadata | undefined,
  ): Promise<StoredConversation | undefined> {
    return this.inTransaction(async (client) => {
      const { rows } = await client.query<ConversationRow>(
        'SELECT created_at, metadata FROM smg_conversations WHERE owner = $1 AND id = $2 FOR UPDATE',
        [owner, id],
      );
      const found = conversationOf(id, rows[0]);
      if (found === undefined) return undefined;
      const metadata = change(found.metadata);
      await client.query(
        'UPDATE smg_conversations SET metadata = $3 WHERE owner = $1 AND id = $2',
        [owner, id, textOf(metadata)],
      );
      return { ...found, metadata };
    });
  }

  deleteConversation(owner: string, id: string): Promise<boolean> {
    return this.inTransaction(async (client) => {
      // First of all, so that nothing is linked while its links go.
      const lock = 'SELECT 1 FROM smg_conversations WHERE owner = $1 AND id = $2 FOR UPDATE';
      if ((await client.query(lock, [owner, id])).rowCount === 0) return false;
      const { rows } = await client.query<{ item_id: string }>(
        'DELETE FROM smg_conversation_links WHERE owner = $1 AND conversation_id = $2 RETURNING item_id',
        [owner, id],
      );
      await client.query('DELETE FROM smg_conversations WHERE owner = $1 AND id = $2', [owner, id]);
      await dropUnused(
        client,
        owner,
        rows.map((row) => row.item_id),
      );
      return true;
    });
  }

  async addItems(
    owner: string,
    conversationId: string,
    items: readonly ItemToAdd[],
  ): Promise<AddOutcome> {
    try {
      return await this.inTransaction((client) => addItems(client, owner, conversationId, items));
    } catch (error) {
      if (error instanceof Undone) return error.outcome as AddOutcome;
      throw error;
    }
  }

  async items(owner: string, conversationId: string, page: PageQuery): Promise<ListOutcome> {
    const after = await this.positionOf(owner, conversationId, page.after);
    if (typeof after !== 'string') return after;
    const isAscending = page.order === 'asc';
    const { rows } = await this.pool.query<ItemRow>(
      `SELECT item.id, item.body
       FROM smg_conversation_links link
       JOIN smg_conversation_items item ON item.owner = link.owner AND item.id = link.item_id
       WHERE link.owner = $1 AND link.conversation_id = $2
         AND ($3 = '' OR link.position ${isAscending ? '>' : '<'} nullif($3, '')::bigint)
       ORDER BY link.position ${isAscending ? 'ASC' : 'DESC'}
       LIMIT $4`,
      [owner, conversationId, after, page.limit],
    );
    return { kind: 'page', items: rows, isFull: rows.length === page.limit };
  }

  async item(
    owner: string,
    conversationId: string,
    itemId: string,
  ): Promise<StoredItem | undefined> {
    const { rows } = await this.pool.query<ItemRow>(
      `SELECT item.id, item.body
       FROM smg_conversation_links link
       JOIN smg_conversation_items item ON item.owner = link.owner AND item.id = link.item_id
       WHERE link.owner = $1 AND link.conversation_id = $2 AND link.item_id = $3`,
      [owner, conversationId, itemId],
    );
    return rows[0];
  }

  removeItem(owner: string, conversationId: string, itemId: string): Promise<boolean> {
    return this.inTransaction(async (client) => {
      const { rowCount } = await client.query(
        'DELETE FROM smg_conversation_links WHERE owner = $1 AND conversation_id = $2 AND item_id = $3',
        [owner, conversationId, itemId],
      );
      if (rowCount === 0) return false;
      await dropUnused(client, owner, [itemId]);
      return true;
    });
  }

  /** Position after which a page begins, as text; empty for the first page. */
  private async positionOf(
    owner: string,
    conversationId: string,
    after: string | undefined,
  ): Promise<string | Exclude<ListOutcome, { kind: 'page' }>> {
    const { rows } = await this.pool.query<{ position: string | null }>(
      `SELECT (SELECT position FROM smg_conversation_links
               WHERE owner = $1 AND conversation_id = $2 AND item_id = $3) AS position
       FROM smg_conversations WHERE owner = $1 AND id = $2`,
      [owner, conversationId, after ?? ''],
    );
    const [row] = rows;
    if (row === undefined) return { kind: 'no_conversation' };
    if (after === undefined) return '';
    return row.position ?? { kind: 'unknown_item' };
  }

  private async inTransaction<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.pool.connect();
    let fault: Error | undefined;
    try {
      await client.query('BEGIN');
      const result = await work(client);
      await client.query('COMMIT');
      return result;
    } catch (error) {
      fault = await rollBack(client);
      throw error;
    } finally {
      // A connection in an unknown state is not used again.
      client.release(fault);
    }
  }
}

/** @returns why the connection cannot be used any more. */
async function rollBack(client: PoolClient): Promise<Error | undefined> {
  try {
    await client.query('ROLLBACK');
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error('the rollback failed');
  }
}

async function addItems(
  client: PoolClient,
  owner: string,
  conversationId: string,
  items: readonly ItemToAdd[],
): Promise<AddOutcome> {
  const lock = 'SELECT 1 FROM smg_conversations WHERE owner = $1 AND id = $2 FOR UPDATE';
  const { rowCount } = await client.query(lock, [owner, conversationId]);
  if (rowCount === 0) return { kind: 'no_conversation' };
  const added: StoredItem[] = [];
  for (const item of items) added.push(await addItem(client, owner, conversationId, item));
  return { kind: 'added', items: added };
}

async function addItem(
  client: PoolClient,
  owner: string,
  conversationId: string,
  item: ItemToAdd,
): Promise<StoredItem> {
  const { id } = item;
  if (item.kind === 'item') {
    await client.query(
      `INSERT INTO smg_conversation_items (owner, id, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
      [owner, id, item.body],
    );
  }
  // The lock keeps it from being dropped as unused before its link is there.
  const { rows } = await client.query<ItemRow>(
    'SELECT id, body FROM smg_conversation_items WHERE owner = $1 AND id = $2 FOR KEY SHARE',
    [owner, id],
  );
  const [stored] = rows;
  if (stored === undefined) throw new Undone<AddOutcome>({ kind: 'unknown_item', id });
  const { rowCount } = await client.query(
    `INSERT INTO smg_conversation_links (owner, conversation_id, item_id) VALUES ($1, $2, $3)
     ON CONFLICT DO NOTHING`,
    [owner, conversationId, id],
  );
  if (rowCount === 0) throw new Undone<AddOutcome>({ kind: 'duplicate', id });
  return stored;
}

/** Locks first, then looks again: a link that was being made meanwhile is seen. */
async function dropUnused(
  client: PoolClient,
  owner: string,
  itemIds: readonly string[],
): Promise<void> {
  if (itemIds.length === 0) return;
  await client.query(
    `SELECT 1 FROM smg_conversation_items WHERE owner = $1 AND id = ANY($2) ORDER BY id FOR UPDATE`,
    [owner, itemIds],
  );
  await client.query(
    `DELETE FROM smg_conversation_items item
     WHERE item.owner = $1 AND item.id = ANY($2) AND NOT EXISTS (
       SELECT 1 FROM smg_conversation_links link WHERE link.owner = item.owner AND link.item_id = item.id
     )`,
    [owner, itemIds],
  );
}

function conversationOf(
  id: string,
  row: ConversationRow | undefined,
): StoredConversation | undefined {
  if (row === undefined) return undefined;
  const metadata = row.metadata === null ? undefined : (JSON.parse(row.metadata) as Metadata);
  return { id, createdAt: Number(row.created_at), metadata };
}

function textOf(metadata: Metadata | undefined): string | null {
  return metadata === undefined ? null : JSON.stringify(metadata);
}
