import { plainValue } from './plain-text';
import { isObject, refusalOf, type Answer, type RlClient } from './rl-client';
import { RlFailure } from './rl-failure';
import { renderTable } from './table';

export type EngineRow = Readonly<Record<string, unknown>>;

/** Heads of the table and the members of a row under them. */
const COLUMNS: readonly (readonly [head: string, member: string])[] = [
  ['ID', 'id'],
  ['URL', 'url'],
  ['ENGINE', 'engine'],
  ['MODEL', 'model_id'],
  ['HEALTH', 'health'],
  ['CONTROL', 'control'],
  ['VERSION', 'weight_version'],
  ['SOURCE', 'version_source'],
];

/** @throws RlFailure unless it is one row or a list of them. */
export function rowsOf(answer: Answer): readonly EngineRow[] {
  const { status, json } = answer;
  if (status !== 200) throw new RlFailure(refusalOf(answer));
  const rows = json !== undefined && 'id' in json ? [json] : json?.['workers'];
  if (!Array.isArray(rows) || !rows.every(isObject)) {
    throw new RlFailure('the answer is not one of the RL API: is --url that of a gateway?');
  }
  return rows;
}

export function renderRows(rows: readonly EngineRow[]): string {
  if (rows.length === 0) return 'no engines';
  return renderTable(
    COLUMNS.map(([head]) => head),
    rows.map((row) => COLUMNS.map(([, member]) => plainValue(row[member]))),
  );
}

/** Every engine. */
export async function fetchRows(
  client: RlClient,
  signal?: AbortSignal,
): Promise<readonly EngineRow[]> {
  return rowsOf(await client.send({ method: 'GET', path: '/workers', signal }));
}

/** An id as it is; a URL is looked up. @throws RlFailure when no engine has it. */
export async function engineIdOf(client: RlClient, idOrUrl: string): Promise<string> {
  if (!/^https?:\/\//.test(idOrUrl)) return idOrUrl;
  const wanted = idOrUrl.replace(/\/+$/, '');
  const found = (await fetchRows(client)).find(
    (row) => row['url'] === wanted || row['base_url'] === wanted,
  );
  if (typeof found?.['id'] !== 'string')
    throw new RlFailure(`no engine is at ${plainValue(idOrUrl)}`);
  return found['id'];
}
