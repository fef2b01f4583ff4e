/**
 * Steps of the schema; the number of a step is its position, from 1. A released step never changes: what
 * is new is a new step. Texts that hold JSON are `text`, not `jsonb`: an answer is given back as it came.
 */
const STEPS: readonly string[] = [
  `
  CREATE TABLE smg_responses (
    owner text NOT NULL,
    id text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    body text NOT NULL,
    input_items text NOT NULL,
    PRIMARY KEY (owner, id)
  );
  CREATE TABLE smg_conversations (
    owner text NOT NULL,
    id text NOT NULL,
    created_at bigint NOT NULL,
    metadata text,
    PRIMARY KEY (owner, id)
  );
  CREATE TABLE smg_conversation_items (
    owner text NOT NULL,
    id text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    body text NOT NULL,
    PRIMARY KEY (owner, id)
  );
  CREATE TABLE smg_conversation_links (
    owner text NOT NULL,
    conversation_id text NOT NULL,
    item_id text NOT NULL,
    position bigint GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (owner, conversation_id, item_id),
    FOREIGN KEY (owner, conversation_id) REFERENCES smg_conversations (owner, id),
    FOREIGN KEY (owner, item_id) REFERENCES smg_conversation_items (owner, id)
  );
  CREATE INDEX smg_conversation_links_position
    ON smg_conversation_links (owner, conversation_id, position);
  CREATE INDEX smg_conversation_links_item ON smg_conversation_links (owner, item_id);
  `,
];

/** Of the lock that keeps two gateways from making the schema at once; any fixed number. */
const LOCK = 7_301_947;

/** What the schema needs of a connection. */
export interface SchemaClient {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
}

/**
 * Brings the schema to this version, inside a transaction of the caller's.
 * @throws Error when a newer version of the gateway has been here.
 */
export async function bringUpToDate(client: SchemaClient): Promise<void> {
  await client.query('SELECT pg_advisory_xact_lock($1)', [LOCK]);
  await client.query('CREATE TABLE IF NOT EXISTS smg_history_schema (version integer PRIMARY KEY)');
  const { rows } = await client.query('SELECT max(version) AS version FROM smg_history_schema');
  const found = Number((rows[0] as { version: unknown } | undefined)?.version ?? 0);
  if (found > STEPS.length) {
    throw new Error(
      `its tables are of version ${found}, and this gateway knows ${STEPS.length}: use the newer gateway`,
    );
  }
  for (const [index, step] of STEPS.entries()) {
    if (index < found) continue;
    await client.query(step);
    await client.query('INSERT INTO smg_history_schema (version) VALUES ($1)', [index + 1]);
  }
}
