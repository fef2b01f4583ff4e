import { Transform, Type } from 'class-transformer';
import { IsArray, IsIn, IsOptional, IsString, ValidateNested } from 'class-validator';
import { CONNECTION_MODES, WORKER_TYPES } from '@smg/protocol';
import { ModelCardDto } from './model-card.dto';
import { OptionalInt, OptionalNumber } from './numbers';
import { IsStringMap } from './string-map';
import { HealthDto, HttpPoolDto, OverloadDto, ResilienceDto } from './worker-settings.dto';

const MAX_PORT = 65_535;

/** Body of POST and PUT `/workers`. */
export class WorkerSpecDto {
  @IsString() url!: string;
  @IsOptional()
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => ModelCardDto)
  models?: ModelCardDto[];
  @IsOptional() @IsIn(WORKER_TYPES) worker_type?: string;
  @IsOptional() @IsIn(CONNECTION_MODES) connection_mode?: string;
  /** `runtime` is its older name. */
  @Transform(
    ({ value, obj }: { value: unknown; obj: Record<string, unknown> }) => value ?? obj['runtime'],
  )
  @IsOptional()
  @IsString()
  runtime_type?: string;
  @IsOptional() @IsString() provider?: string;
  @IsOptional()
  @IsStringMap()
  @Type(() => Object)
  @Transform(({ obj }: { obj: Record<string, unknown> }) => obj['labels'])
  labels?: Record<string, string>;
  @OptionalInt() priority?: number;
  @OptionalNumber(-Number.MAX_VALUE) cost?: number;
  @IsOptional() @IsString() api_key?: string;
  @OptionalInt(1, MAX_PORT) bootstrap_port?: number;
  @IsOptional() @IsString() dp_base_url?: string;
  @OptionalInt(0, 99_999) dp_rank?: number;
  @OptionalInt(1, 99_999) dp_size?: number;
  @IsOptional() @IsString() kv_connector?: string;
  @IsOptional() @IsString() kv_role?: string;
  @IsOptional() @IsString() kv_engine_id?: string;
  @OptionalInt() kv_block_size?: number;
  @IsOptional() @ValidateNested() @Type(() => HealthDto) health?: HealthDto;
  @IsOptional() @ValidateNested() @Type(() => HttpPoolDto) http_pool?: HttpPoolDto;
  @IsOptional() @ValidateNested() @Type(() => ResilienceDto) resilience?: ResilienceDto;
  @OptionalInt() max_connection_attempts?: number;
  @OptionalInt() load_monitor_interval_secs?: number;
  @IsOptional() @ValidateNested() @Type(() => OverloadDto) overload?: OverloadDto;
}
