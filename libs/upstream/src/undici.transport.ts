import { Injectable } from '@nestjs/common';
import { UndiciCall } from './undici.call';
import { UpstreamPool } from './upstream.pool';
import {
  type UpstreamCall,
  type UpstreamHandler,
  type UpstreamRequest,
  type UpstreamTransport,
} from './upstream.transport';

/** {@link UpstreamTransport} over undici's `Client.dispatch`, its cheapest entrance. */
@Injectable()
export class UndiciTransport implements UpstreamTransport {
  constructor(private readonly pool: UpstreamPool) {}

  get openConnections(): number {
    return this.pool.openConnections;
  }

  dispatch(request: UpstreamRequest, handler: UpstreamHandler): UpstreamCall {
    const call = new UndiciCall(this.pool, request, handler);
    call.start(request.freshConnection === true);
    return call;
  }
}
