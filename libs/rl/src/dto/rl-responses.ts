import { applyDecorators } from '@nestjs/common';
import { ApiBearerAuth, ApiResponse, ApiTags } from '@nestjs/swagger';
import { RL_ERROR_STATUS, type RlErrorCode } from '../core/rl-error';
import { RlErrorDto } from './rl-error.dto';

/** Documents the errors of a route, one entry per status with the codes it may carry. */
export function RlErrors(...codes: readonly RlErrorCode[]): MethodDecorator {
  const byStatus = new Map<number, RlErrorCode[]>();
  for (const code of [...codes, 'invalid_version_policy'] as const) {
    const status = RL_ERROR_STATUS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return applyDecorators(
    ...[...byStatus].map(([status, known]) =>
      ApiResponse({
        status,
        type: RlErrorDto,
        description: known.map((code) => `\`${code}\``).join(', '),
      }),
    ),
  );
}

/** What every route of the control plane has in common. */
export function RlRoutes(): ClassDecorator {
  return applyDecorators(
    ApiTags('RL control plane'),
    ApiBearerAuth(),
    ApiResponse({
      status: 401,
      description: 'The key is missing or not accepted.',
      content: { 'text/plain': { schema: { type: 'string' } } },
    }),
  );
}

/** A body longer than `--max-payload-size`. */
export function RlTooLarge(): MethodDecorator {
  return ApiResponse({
    status: 413,
    description: 'The body is larger than `--max-payload-size`.',
    content: { 'text/plain': { schema: { type: 'string' } } },
  });
}
