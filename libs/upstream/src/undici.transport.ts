import { Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { UndiciCall } from './undici.call';
import { UpstreamPool } from './upstream.pool';
import {
  type UpgradeHandler,
  type UpstreamCall,
  type UpstreamHandler,
  type UpstreamRequest,
  type UpstreamTransport,
} from './upstream.transport';

/** {@link UpstreamTransport} over undici's `Client.dispatch`, its cheapest entrance. */
@Injectable()
export class UndiciTransport implements UpstreamTransport {
  readonly via = `1.1 smg-${randomBytes(9).toString('base64url')}`;

  constructor(private readonly pool: UpstreamPool) {}

  get openConnections(): number {
    return this.pool.openConnections;
  }

  dispatch(request: UpstreamRequest, handler: UpstreamHandler): UpstreamCall {
    const call = new UndiciCall(this.pool, request, handler, this.via);
    call.start(request.freshConnection === true);
    return call;
  }

  upgrade(request: UpstreamRequest, protocol: string, handler: UpgradeHandler): UpstreamCall {
    const fresh = { ...request, freshConnection: true };
    const call = new UndiciCall(this.pool, fresh, handler, this.via, { protocol, handler });
    call.start(true);
    return call;
  }
}
