import { SetMetadata } from '@nestjs/common';

/** Metadata key of {@link DescribedBy}; a string, so that it survives two copies of the package. */
export const DESCRIPTION_METADATA = 'smg:description';

/** What a controller says of its routes in the OpenAPI document, as decorators of `@nestjs/swagger`. */
export interface RouteDescriptions<Method extends string = string> {
  /** For the class. */
  readonly controller: readonly ClassDecorator[];
  /** For its methods, by name. */
  readonly methods: Readonly<Record<Method, readonly MethodDecorator[]>>;
}

/**
 * Names the description of a controller's routes without reading it: it is loaded when somebody first
 * asks for the document. A controller may carry the decorators itself instead; the process then holds
 * them, and `@nestjs/swagger`, from its start.
 *
 * @param load hands out the description; called at most once.
 * @example
 * ```ts
 * @DescribedBy(() => (require('./stats.description') as typeof Stats).STATS_DESCRIPTION)
 * @ControlPlane()
 * @Controller('stats')
 * export class StatsController {}
 * ```
 */
export function DescribedBy<Method extends string>(
  load: () => RouteDescriptions<Method>,
): (target: abstract new (...args: never[]) => Readonly<Record<Method, unknown>>) => void {
  return SetMetadata(DESCRIPTION_METADATA, load);
}
