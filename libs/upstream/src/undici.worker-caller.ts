import { Inject, Injectable } from '@nestjs/common';
import {
  WorkerCallError,
  type WorkerAnswer,
  type WorkerCall,
  type WorkerCaller,
} from '@smg/plugin-api';
import { callName } from './core/call-name';
import { BufferedCall } from './buffered.call';
import { UPSTREAM_TRANSPORT, type UpstreamTransport } from './upstream.transport';

/** Headers the HTTP client writes itself; a second one would be a smuggling hole. */
const FRAMING: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

const LEGAL_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const LEGAL_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * Control calls to engines. GET and HEAD use pooled connections; everything else opens its own, so
 * that a pause or a weight update is never written to a dying socket and never sent twice.
 */
@Injectable()
export class UndiciWorkerCaller implements WorkerCaller {
  constructor(@Inject(UPSTREAM_TRANSPORT) private readonly transport: UpstreamTransport) {}

  call(order: WorkerCall): Promise<WorkerAnswer> {
    return new Promise((resolve, reject) => {
      const headers = controlHeaders(order);
      if (headers === undefined) {
        reject(new WorkerCallError('unreachable', `${callName(order)}: illegal header`));
        return;
      }
      const repeatable = order.method === 'GET' || order.method === 'HEAD';
      new BufferedCall(order, resolve, reject).start(this.transport, {
        baseUrl: order.baseUrl,
        method: order.method,
        path: order.path,
        headers,
        body: order.body ?? null,
        freshConnection: !repeatable,
      });
    });
  }
}

function controlHeaders(order: WorkerCall): string[] | undefined {
  const given = order.headers ?? [];
  const out: string[] = [];
  let authorized = false;
  let encoding = false;
  for (let i = 0; i + 1 < given.length; i += 2) {
    const name = (given[i] ?? '').toLowerCase();
    const value = given[i + 1] ?? '';
    if (FRAMING.has(name)) continue;
    if (!LEGAL_NAME.test(name) || !LEGAL_VALUE.test(value)) return undefined;
    if (name === 'authorization') {
      if (authorized) continue;
      authorized = true;
    }
    if (name === 'accept-encoding') encoding = true;
    out.push(name, value);
  }
  if (!encoding) out.push('accept-encoding', 'identity');
  if (!authorized && order.apiKey !== undefined) {
    const own = `Bearer ${order.apiKey}`;
    if (!LEGAL_VALUE.test(own)) return undefined;
    out.push('authorization', own);
  }
  return out;
}
