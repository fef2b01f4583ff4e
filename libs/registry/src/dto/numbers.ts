import { applyDecorators } from '@nestjs/common';
import { IsArray, IsInt, IsNumber, IsOptional, Max, Min } from 'class-validator';

/** An optional whole number from `min`; the default upper bound is that of an unsigned 32-bit number. */
export const OptionalInt = (min = 0, max = 4_294_967_295): PropertyDecorator =>
  applyDecorators(IsOptional(), IsInt(), Min(min), Max(max));

/** An optional finite number from `min` to `max`. */
export const OptionalNumber = (min = 0, max = Number.MAX_VALUE): PropertyDecorator =>
  applyDecorators(
    IsOptional(),
    IsNumber({ allowInfinity: false, allowNaN: false }),
    Min(min),
    Max(max),
  );

/** An optional list of HTTP statuses. */
export const OptionalStatusCodes = (): PropertyDecorator =>
  applyDecorators(
    IsOptional(),
    IsArray(),
    IsInt({ each: true }),
    Min(100, { each: true }),
    Max(599, { each: true }),
  );
