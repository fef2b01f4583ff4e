import {
  Injectable,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
  type OnModuleInit,
} from '@nestjs/common';
import { RESPONSE_INTERCEPTOR, type ResponseInterceptor } from '@smg/plugin-api';
import { ExtensionCollector } from '@smg/plugin-host';
import { type Observable } from 'rxjs';

/**
 * Every registered response interceptor, in order. The data plane walks `all` itself; in Nest's
 * pipeline this interceptor lets each of them attach itself to the request.
 */
@Injectable()
export class ResponseInterceptorChain implements NestInterceptor, OnModuleInit {
  all: readonly ResponseInterceptor[] = Object.freeze([]);

  constructor(private readonly collector: ExtensionCollector) {}

  onModuleInit(): void {
    const found = [...this.collector.collect(RESPONSE_INTERCEPTOR)];
    found.sort((a, b) => a.order - b.order || (a.name < b.name ? -1 : 1));
    this.all = Object.freeze(found);
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return this.step(0, context, next);
  }

  private step(at: number, context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const interceptor = this.all[at];
    if (interceptor === undefined) return next.handle();
    return interceptor.intercept(context, { handle: () => this.step(at + 1, context, next) });
  }
}
