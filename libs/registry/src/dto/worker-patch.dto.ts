import { Transform, Type } from 'class-transformer';
import { IsOptional, IsString, ValidateNested } from 'class-validator';
import { OptionalInt, OptionalNumber } from './numbers';
import { IsStringMap } from './string-map';
import { HealthDto } from './worker-settings.dto';

/** Body of PATCH `/workers/{id}`. */
export class WorkerPatchDto {
  @OptionalInt() priority?: number;
  @OptionalNumber(-Number.MAX_VALUE) cost?: number;
  @IsOptional()
  @IsStringMap()
  @Type(() => Object)
  @Transform(({ obj }: { obj: Record<string, unknown> }) => obj['labels'])
  labels?: Record<string, string>;
  @IsOptional() @IsString() api_key?: string;
  @IsOptional() @ValidateNested() @Type(() => HealthDto) health?: HealthDto;
}
