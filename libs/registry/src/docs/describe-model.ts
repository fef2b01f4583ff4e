import { ApiProperty, type ApiPropertyOptions, ApiSchema } from '@nestjs/swagger';

/** One description per property; a property that is forgotten does not compile. */
export type ModelDescription<Model> = {
  readonly [Name in keyof Model]-?: ApiPropertyOptions;
};

/**
 * What `@ApiSchema` and `@ApiProperty` do, without the class having to read `@nestjs/swagger`.
 * @param name of the schema.
 */
export function describeModel<Model extends object>(
  model: new () => Model,
  name: string,
  properties: ModelDescription<Model>,
): void {
  ApiSchema({ name })(model);
  for (const [property, options] of Object.entries<ApiPropertyOptions>(properties)) {
    ApiProperty(options)(model.prototype as object, property);
  }
}

export const optionalText = (description: string, example?: string): ApiPropertyOptions => ({
  type: 'string',
  required: false,
  description,
  ...(example === undefined ? {} : { example }),
});

export const optionalTexts = (description: string): ApiPropertyOptions => ({
  type: 'array',
  items: { type: 'string' },
  required: false,
  description,
});

export const optionalInt = (
  description: string,
  { minimum = 0, maximum }: { readonly minimum?: number; readonly maximum?: number } = {},
): ApiPropertyOptions => ({
  type: 'integer',
  required: false,
  minimum,
  ...(maximum === undefined ? {} : { maximum }),
  description,
});

export const optionalFlag = (description: string): ApiPropertyOptions => ({
  type: 'boolean',
  required: false,
  description,
});

export const optionalNumber = (
  description: string,
  bounds: { readonly minimum?: number; readonly maximum?: number } = {},
): ApiPropertyOptions => ({ type: 'number', required: false, ...bounds, description });

export const optionalStatuses = (description: string): ApiPropertyOptions => ({
  type: 'array',
  items: { type: 'integer', minimum: 100, maximum: 599 },
  required: false,
  description,
});

/** Texts by name. */
export const optionalMap = (
  description: string,
  example: Readonly<Record<string, string>>,
): ApiPropertyOptions => ({
  type: 'object',
  additionalProperties: { type: 'string' },
  selfRequired: false,
  description,
  example,
});

/** A model of ours as a member. */
export const optionalModel = (type: new () => object, description: string): ApiPropertyOptions => ({
  type: () => type,
  required: false,
  description,
});
