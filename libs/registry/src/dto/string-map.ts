import { ValidateBy } from 'class-validator';

/** A JSON object whose values are all text. */
export function IsStringMap(): PropertyDecorator {
  return ValidateBy({
    name: 'isStringMap',
    validator: {
      validate: (value: unknown) =>
        typeof value === 'object' &&
        value !== null &&
        !Array.isArray(value) &&
        Object.values(value).every((item) => typeof item === 'string'),
      defaultMessage: (args) => `${args?.property ?? 'value'} must map names to strings`,
    },
  });
}
