import { Injectable } from '@nestjs/common';
import { ROUTED_WORKER_ID } from '@smg/protocol';
import { ResponseInterceptor, type Exchange, type ResponseHead } from '@smg/plugin-api';

/** Names the worker on every answer it caused, errors included. */
@Injectable()
export class RoutedWorkerInterceptor extends ResponseInterceptor {
  readonly name = 'routed-worker';
  readonly order = 100;

  onHead(head: ResponseHead, exchange: Exchange): void {
    const { routedWorker } = exchange;
    if (routedWorker !== undefined) head.set(ROUTED_WORKER_ID, routedWorker.url);
  }
}
