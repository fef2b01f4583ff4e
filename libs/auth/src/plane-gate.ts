import { type IncomingMessage } from 'node:http';
import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import {
  attachPrincipal,
  AUDIT_LOG,
  type AuditEntry,
  type AuditLog,
  type Plane,
  SERVING_AUTH,
} from '@smg/plugin-api';
import { AuthMetrics } from './auth.metrics';
import { ControlPlaneAuth, type ControlDecision } from './core/control-plane-auth';
import { exposureWarnings } from './core/exposure';
import {
  ALLOWED,
  controlRejection,
  type PlaneDecision,
  servingRejection,
  UNRECORDED,
} from './core/plane-decision';
import { ServingKeyAuth } from './core/serving-key-auth';

/** What the record of a decision says besides who and what. */
export interface RequestFacts {
  readonly requestId?: string | undefined;
  /** Route template; undefined when no route matched. */
  readonly route?: string | undefined;
}

/** Decides on a request by its plane, once, before its body is read. */
@Injectable()
export class PlaneGate implements OnModuleInit {
  private readonly logger = new Logger('auth');
  private readonly decided = new WeakMap<
    IncomingMessage,
    { readonly plane: Plane; readonly decision: PlaneDecision | Promise<PlaneDecision> }
  >();

  constructor(
    @Inject(SERVING_AUTH) private readonly serving: ServingKeyAuth,
    private readonly control: ControlPlaneAuth,
    private readonly metrics: AuthMetrics,
    @Inject(AUDIT_LOG) private readonly audit: AuditLog,
  ) {}

  onModuleInit(): void {
    for (const warning of exposureWarnings(this.serving, this.control)) this.logger.warn(warning);
  }

  /**
   * For planes whose decision is never a matter of waiting.
   * @param authorization raw header value.
   */
  authoriseRawRequest(
    plane: Exclude<Plane, 'control'>,
    authorization: string | undefined,
  ): PlaneDecision {
    if (plane === 'public') return ALLOWED;
    const decision = this.serving.decide(authorization);
    if (decision.allowed) return ALLOWED;
    this.serving.noteRefusal(decision);
    return servingRejection(decision);
  }

  /**
   * Decides on any plane. A second call for the same request gives the first one's answer: the hook
   * before the body and the guard after it share one decision, one record and one count.
   */
  authorise(
    plane: Plane,
    request: IncomingMessage,
    facts: RequestFacts = {},
  ): PlaneDecision | Promise<PlaneDecision> {
    if (plane === 'public') return ALLOWED;
    const known = this.decided.get(request);
    if (known?.plane === plane) return known.decision;
    const decision =
      plane === 'data'
        ? this.authoriseRawRequest(plane, request.headers.authorization)
        : this.authoriseControl(request, facts);
    this.decided.set(request, { plane, decision });
    return decision;
  }

  private authoriseControl(
    request: IncomingMessage,
    facts: RequestFacts,
  ): PlaneDecision | Promise<PlaneDecision> {
    const decision = this.control.decide(request.headers.authorization);
    return decision instanceof Promise
      ? decision.then((settled) => this.recorded(request, facts, settled))
      : this.recorded(request, facts, decision);
  }

  private recorded(
    request: IncomingMessage,
    facts: RequestFacts,
    decision: ControlDecision,
  ): PlaneDecision | Promise<PlaneDecision> {
    const { audit } = this;
    const durable = audit.isOn ? audit.record(entryOf(request, facts, decision)) : undefined;
    if (!decision.allowed) {
      this.metrics.refused('control', decision.reason);
      return controlRejection(decision);
    }
    if (durable === undefined || !audit.isRequired) return this.admitted(request, decision);
    return durable.then(
      (isDurable) => (isDurable ? this.admitted(request, decision) : this.unrecorded()),
      () => this.unrecorded(),
    );
  }

  private admitted(
    request: IncomingMessage,
    { principal }: Extract<ControlDecision, { allowed: true }>,
  ): PlaneDecision {
    attachPrincipal(request, principal);
    return ALLOWED;
  }

  private unrecorded(): PlaneDecision {
    this.metrics.refused('control', 'audit_unavailable');
    return UNRECORDED;
  }
}

function entryOf(
  request: IncomingMessage,
  { requestId, route }: RequestFacts,
  decision: ControlDecision,
): AuditEntry {
  const [path = ''] = (request.url ?? '').split('?', 1);
  return {
    kind: 'decision',
    principal: decision.principal,
    httpMethod: request.method ?? '',
    path,
    route,
    outcome: decision.allowed ? 'success' : 'denied',
    requestId,
    details: decision.allowed ? undefined : decision.message,
  };
}
