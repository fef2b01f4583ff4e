import { Allow, IsArray, IsNotEmpty, IsOptional, IsString } from 'class-validator';
import { OptionalInt } from './numbers';

/** A model card of the worker API. */
export class ModelCardDto {
  @IsString() @IsNotEmpty() id!: string;
  @IsOptional() @IsString() display_name?: string;
  @IsOptional() @IsArray() @IsString({ each: true }) aliases?: string[];
  @IsOptional() @IsArray() @IsString({ each: true }) model_type?: string[];
  @IsOptional() @IsString() hf_model_type?: string;
  @IsOptional() @IsArray() @IsString({ each: true }) architectures?: string[];
  @IsOptional() @IsString() provider?: string;
  @OptionalInt() context_length?: number;
  @IsOptional() @IsString() tokenizer_path?: string;
  @IsOptional() @IsString() chat_template?: string;
  @IsOptional() @IsString() reasoning_parser?: string;
  @IsOptional() @IsString() tool_parser?: string;
  @Allow() metadata?: unknown;
  @Allow() id2label?: unknown;
  @OptionalInt() num_labels?: number;
}
