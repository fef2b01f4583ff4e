import { type OpenAPIObject } from '@nestjs/swagger';
import { type Plane } from '@smg/plugin-api';
import { ERROR_CODE, ERROR_CODES, type ErrorCode } from '@smg/protocol';

export const CONTROL_SCHEME = 'control-plane';
export const SERVING_SCHEME = 'serving';

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;

const TEXT = { 'text/plain': { schema: { type: 'string' } } } as const;
const CHALLENGE = {
  'www-authenticate': { schema: { type: 'string' }, description: 'What to send.' },
} as const;

/** Why the guard of the control plane may be unable to judge. */
const UNAVAILABLE = ['jwks_unavailable', 'audit_unavailable'] as const satisfies ErrorCode[];

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
      operation.responses['503'] ??= {
        description: UNAVAILABLE.map((code) => `\`${code}\`: ${ERROR_CODES[code].meaning}`).join(
          '\n\n',
        ),
        headers: { [ERROR_CODE]: { schema: { type: 'string' }, description: 'The code.' } },
        content: TEXT,
      };
  }
}
