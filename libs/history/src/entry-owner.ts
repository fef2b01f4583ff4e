import { Inject, Injectable } from '@nestjs/common';
import { SERVING_AUTH, type ServingAuth } from '@smg/plugin-api';
import { NOBODY } from './core/answer-keeper';
import { type HistoryRequest } from './history.http';

/** Whose entries a request may see: those of the tenant whose key it has. */
@Injectable()
export class EntryOwner {
  constructor(@Inject(SERVING_AUTH) private readonly auth: ServingAuth) {}

  /** The request has been admitted already. */
  of({ headers }: HistoryRequest): string {
    const decision = this.auth.decide(headers.authorization);
    return decision.allowed ? (decision.tenant ?? NOBODY) : NOBODY;
  }

  /** Whether the client's Authorization is for the engine, because the gateway has no keys. */
  passesAuthorization({ headers }: HistoryRequest): boolean {
    const decision = this.auth.decide(headers.authorization);
    return decision.allowed && !decision.consumesAuthorization;
  }
}
