import { type Endpoint, ROUTING_KEY, UNKNOWN_MODEL } from '@smg/protocol';
import {
  type Exchange,
  type SelectionContext,
  type SelectionLeg,
  type WorkerView,
} from '@smg/plugin-api';
import { conversationOf, parseRid } from './core/affinity-key';
import { type ClientHead } from './core/client-head';
import { type JsonObject, type RequestFacts } from './core/request-facts';
import { type RouteFacts } from './core/inference-routes';
import { parseRoutingKey, parseRoutingTokens } from './core/routing-hints';
import { bodyTokensOf, routingTextOf } from './core/routing-text';

const NO_FACTS: JsonObject = Object.freeze({});

/** Names of headers that carry hints. */
export interface HintHeaders {
  /** Lower case. */
  readonly tokens: string;
  readonly keys: readonly string[];
  /** `--routing-key-override`: conversations stay with their worker. */
  readonly isSticky?: boolean | undefined;
}

/**
 * One request on its way: what interceptors see and what selection may ask, in one object. Hints are
 * worked out when first asked for, and once.
 */
export class InferenceExchange implements Exchange, SelectionContext {
  leg: SelectionLeg = 'regular';
  readonly route: string;
  readonly endpoint: Endpoint;
  model = UNKNOWN_MODEL;
  wantsStream = false;
  attempt = 0;
  routedWorker: WorkerView | undefined;
  private json: JsonObject = NO_FACTS;
  private notes: Map<symbol, unknown> | undefined;
  private text: Buffer | null | undefined;
  private tokens: readonly number[] | null | undefined;
  private key: string | null | undefined;
  private affinity: string | null | undefined;
  private source: 'rid' | 'header' | undefined;

  constructor(
    readonly requestId: string,
    readonly method: string,
    facts: RouteFacts,
    private readonly head: ClientHead,
    private readonly hints: HintHeaders,
  ) {
    this.route = facts.path;
    this.endpoint = facts.endpoint;
  }

  learn(facts: RequestFacts): void {
    this.json = facts.json;
    this.wantsStream = facts.wantsStream;
  }

  /** The parsed body is not needed once a worker answers; a stream may last for hours. */
  forgetBody(): void {
    this.json = NO_FACTS;
    this.text = undefined;
  }

  header(name: string): string | undefined {
    return this.head.header(name);
  }

  routingText(): Buffer | undefined {
    if (this.text === undefined) {
      const text = routingTextOf(this.endpoint, this.json);
      this.text = text === undefined ? null : Buffer.from(text);
    }
    return this.text ?? undefined;
  }

  routingTokens(): readonly number[] | undefined {
    // `null` means: looked for, there are none.
    if (this.tokens === undefined) {
      this.tokens =
        parseRoutingTokens(this.head.header(this.hints.tokens)) ?? bodyTokensOf(this.json) ?? null;
    }
    return this.tokens ?? undefined;
  }

  routingKey(): string | undefined {
    if (this.key === undefined) this.key = this.findKey() ?? null;
    return this.key ?? undefined;
  }

  affinityKey(): string | undefined {
    if (this.affinity === undefined) this.affinity = this.findAffinity() ?? null;
    return this.affinity ?? undefined;
  }

  affinitySource(): 'rid' | 'header' | undefined {
    return this.source;
  }

  /** The affinity key, if selection went by it: what the request counts under at its worker. */
  get keyInFlight(): string | undefined {
    return this.affinity ?? undefined;
  }

  /** The id the client gave its request in the body: SGLang's name, or vLLM's. Until an engine answers. */
  get rid(): unknown {
    return this.json['rid'] ?? this.json['request_id'];
  }

  note(key: symbol, value: unknown): void {
    this.notes ??= new Map();
    this.notes.set(key, value);
  }

  noted(key: symbol): unknown {
    return this.notes?.get(key);
  }

  private findAffinity(): string | undefined {
    if (this.hints.isSticky !== true) {
      return this.fromHeader(this.routingKey() ?? parseRoutingKey(this.head.header(ROUTING_KEY)));
    }
    const rid = parseRid(this.json['rid']);
    if (rid !== undefined) {
      this.source = 'rid';
      return conversationOf(rid);
    }
    const key = this.fromHeader(this.routingKey());
    return key === undefined ? undefined : conversationOf(key);
  }

  private fromHeader(key: string | undefined): string | undefined {
    if (key !== undefined) this.source = 'header';
    return key;
  }

  private findKey(): string | undefined {
    for (const name of this.hints.keys) {
      const key = parseRoutingKey(this.head.header(name));
      if (key !== undefined) return key;
    }
    return undefined;
  }
}
