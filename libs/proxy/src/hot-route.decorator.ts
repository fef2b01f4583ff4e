import { SetMetadata } from '@nestjs/common';

/** Metadata key of {@link HotRoute}. */
export const HOT_ROUTE_METADATA = 'smg:hot-route';

/** The route is executed by the data plane; Nest only declares it. */
export const HotRoute = (): MethodDecorator => SetMetadata(HOT_ROUTE_METADATA, true);
