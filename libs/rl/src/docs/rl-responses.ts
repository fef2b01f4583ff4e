import { applyDecorators } from '@nestjs/common';
import { ApiParam, ApiQuery, ApiResponse, ApiTags } from '@nestjs/swagger';
import { RL_ERROR_STATUS, type RlErrorCode } from '../core/rl-error';
import { RlErrorModel } from './rl-error.model';

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
        type: RlErrorModel,
        description: known.map((code) => `\`${code}\``).join(', '),
      }),
    ),
  );
}

export const RL_TAG = ApiTags('RL control plane');

/** A body longer than `--max-payload-size`. */
export const RL_TOO_LARGE = ApiResponse({
  status: 413,
  description: 'The body is larger than `--max-payload-size`.',
  content: { 'text/plain': { schema: { type: 'string' } } },
});

export const WORKER_ID = ApiParam({
  name: 'id',
  schema: { type: 'string', format: 'uuid' },
  description: 'Worker id; any rank of a data-parallel engine.',
});

export const SELECTOR = ApiQuery({
  name: 'selector',
  required: true,
  schema: { type: 'string', example: 'engine=sglang, role!=reward' },
  description: 'Which engines: terms that must all hold, separated by commas.',
});
