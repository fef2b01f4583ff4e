import { type OpenAPIObject } from '@nestjs/swagger';
import { type Plane } from '@smg/plugin-api';

export const CONTROL_SCHEME = 'control-plane';
export const SERVING_SCHEME = 'serving';

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;

const TEXT = { 'text/plain': { schema: { type: 'string' } } } as const;
const CHALLENGE = {
  'www-authenticate': { schema: { type: 'string' }, description: 'What to send.' },
} as const;

/** Adds what the guard of a plane demands and answers. */
export function describePlane(operation: Operation, plane: Plane): void {
  switch (plane) {
    case 'public':
      operation.security = [];
      return;
    case 'data':
      operation.security = [{ [SERVING_SCHEME]: [] }];
      operation.responses['401'] = {
        description: '`invalid_api_key`: The serving key is missing or unknown.',
        headers: CHALLENGE,
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      };
      return;
    case 'control':
      operation.security = [{ [CONTROL_SCHEME]: [] }];
      operation.responses['401'] = {
        description: 'The key or token is missing or not accepted.',
        headers: CHALLENGE,
        content: TEXT,
      };
      operation.responses['403'] = {
        description: 'The key or token is good, but its role may not do this.',
        content: TEXT,
      };
  }
}
