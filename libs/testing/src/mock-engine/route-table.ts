import { type Answer } from './answer';
import { type EngineState } from './engine-state';
import { Generation, type GenerationInput } from './generation';
import { type ResolvedOptions } from './mock-engine.options';
import { type RecordedRequest } from './recorded-request';

/** What a route works with. */
export interface RouteContext {
  readonly request: RecordedRequest;
  readonly answer: Answer;
  readonly state: EngineState;
  readonly options: ResolvedOptions;
  /** Port listened on. */
  readonly port: number;
  /** A number of this engine's own, counting up: ids are the same in every run. */
  nextId(): number;
  /** Dies as a killed process does: every connection reset, nobody listening. */
  crash(): void;
}

export type RouteHandler = (context: RouteContext) => Promise<void>;

export interface Route {
  readonly methods: readonly string[];
  readonly handle: RouteHandler;
  /** Inference: fails while asleep, and takes part in `failRate`. */
  readonly isInference: boolean;
}

/** Routes by exact path, or by a prefix that ends in `/`. */
export class RouteTable {
  private readonly routes = new Map<string, Route>();

  add(methods: string, path: string, handle: RouteHandler): this {
    this.routes.set(path, { methods: methods.split(' '), handle, isInference: false });
    return this;
  }

  inference(path: string, handle: RouteHandler): this {
    this.routes.set(path, { methods: ['POST'], handle, isInference: true });
    return this;
  }

  find(path: string): Route | undefined {
    const exact = this.routes.get(path);
    if (exact !== undefined) return exact;
    for (let slash = path.lastIndexOf('/'); slash > 0; slash = path.lastIndexOf('/', slash - 1)) {
      const route = this.routes.get(path.slice(0, slash + 1));
      if (route !== undefined) return route;
    }
    return undefined;
  }
}

export function startGeneration(context: RouteContext, input: GenerationInput): Generation {
  return new Generation(input, context.state, context.options);
}

/** A string member of a body, or undefined. */
export function stringOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** A whole number member of a body, or undefined. */
export function intOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) ? value : undefined;
}

export function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}
