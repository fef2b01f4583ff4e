import { type WorkerInfoWire, type WorkerSpecWire } from '@smg/protocol';
import { send } from './http';
import { until } from './until';

interface WorkerList {
  readonly workers: readonly WorkerInfoWire[];
  readonly total: number;
}

export interface WorkersClient {
  list(): Promise<WorkerList>;
  find(id: string): Promise<WorkerInfoWire>;
  byUrl(url: string): Promise<WorkerInfoWire>;
  /** Adds a worker and waits until it is ready. @returns its id. */
  added(spec: WorkerSpecWire): Promise<string>;
  untilReady(id: string): Promise<void>;
  /** Waits until as many workers are ready. */
  untilCount(ready: number): Promise<void>;
  /** Asks for the removal; it may drain. */
  remove(id: string): Promise<void>;
}

/** The worker API of a gateway, for tests that are about something else. */
export function workersOf(gatewayUrl: string, key?: string): WorkersClient {
  const base = `${gatewayUrl}/workers`;
  const headers: Record<string, string> =
    key === undefined ? {} : { authorization: `Bearer ${key}` };
  const find = async (id: string): Promise<WorkerInfoWire> => {
    const answer = await send(`${base}/${id}`, { headers });
    return answer.json as unknown as WorkerInfoWire;
  };
  const list = async (): Promise<WorkerList> =>
    (await send(base, { headers })).json as unknown as WorkerList;
  const untilReady = (id: string): Promise<void> =>
    until(`worker ${id} is ready`, async () => (await find(id)).status === 'ready');
  return {
    list,
    find,
    untilReady,
    async byUrl(url) {
      const found = (await list()).workers.find((worker) => worker.url === url);
      if (found === undefined) throw new Error(`no worker at ${url}`);
      return found;
    },
    async added(spec) {
      const answer = await send(base, { body: spec, headers });
      if (answer.status !== 202) throw new Error(`POST /workers: ${answer.status} ${answer.text}`);
      const id = answer.json['worker_id'] as string;
      await untilReady(id);
      return id;
    },
    untilCount: (ready) =>
      until(`${ready} workers are ready`, async () => {
        const { workers } = await list();
        return workers.filter(({ status }) => status === 'ready').length === ready;
      }),
    async remove(id) {
      const answer = await send(`${base}/${id}`, { method: 'DELETE', headers });
      if (answer.status !== 202) throw new Error(`DELETE /workers: ${answer.status}`);
    },
  };
}
