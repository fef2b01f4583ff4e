import {
  ApiBody,
  ApiHeader,
  ApiOperation,
  ApiParam,
  ApiQuery,
  ApiResponse,
  ApiTags,
  type ApiResponseOptions,
} from '@nestjs/swagger';
import { type RouteDescriptions } from '@smg/plugin-api';
import { WORKER_API_CODES, type WorkerApiCode } from '@smg/protocol';
import {
  WorkerAddModel,
  WorkerChangeModel,
  WorkerErrorModel,
  WorkerInfoModel,
  WorkerListModel,
} from './worker-answers.models';
import { WorkerPatchDto, WorkerSpecDto } from './worker-spec.models';

type Route = 'add' | 'list' | 'find' | 'replace' | 'patch' | 'remove';

const ID = ApiParam({
  name: 'id',
  schema: { type: 'string', example: 'http://127.0.0.1:31001' },
  description: 'Id of the worker, or its URL, percent-encoded.',
});

const refused = (code: WorkerApiCode): MethodDecorator =>
  ApiResponse({
    status: WORKER_API_CODES[code].status,
    type: WorkerErrorModel,
    description: `\`${code}\`: ${WORKER_API_CODES[code].meaning}`,
  });

const text = (status: number, description: string): ApiResponseOptions => ({
  status,
  description,
  content: { 'text/plain': { schema: { type: 'string' } } },
});

/** What a body that cannot be read is refused with. */
const BODY_REFUSALS = [
  ApiResponse(text(413, 'The body is larger than 16 MiB.')),
  ApiResponse(text(415, 'The body is not sent as `application/json`.')),
  ApiResponse(text(422, 'A member is missing or has the wrong type; the message names it.')),
];

const LOCATION = { schema: { type: 'string' as const }, description: 'Path of the worker.' };
const APPLIED = {
  schema: { type: 'string' as const },
  description: 'The wait that was kept, where the client asked for one.',
};

const CHANGED = ApiResponse({ status: 202, type: WorkerChangeModel, description: 'Accepted.' });

export const WORKERS_DESCRIPTION: RouteDescriptions<Route> = {
  controller: [ApiTags('Workers')],
  methods: {
    add: [
      ApiOperation({
        summary: 'Add a worker',
        description:
          'The engine is asked what it is and what it serves; its worker is `ready` once it answers.',
      }),
      ApiHeader({
        name: 'prefer',
        required: false,
        schema: { type: 'string', example: 'wait=30' },
        description:
          '`wait=<seconds>`, at most 300: answer when the worker is ready. The default is `--registration-wait-secs`.',
      }),
      ApiBody({
        type: WorkerSpecDto,
        examples: {
          url: { summary: 'An engine', value: { url: 'http://127.0.0.1:31002' } },
          labels: {
            summary: 'An engine with labels',
            value: { url: 'http://127.0.0.1:31003', labels: { gpu_class: 'h200' }, priority: 60 },
          },
        },
      }),
      ApiResponse({
        status: 202,
        type: WorkerAddModel,
        description: 'Accepted.',
        headers: { location: LOCATION, 'preference-applied': APPLIED },
      }),
      ApiResponse({
        status: 200,
        type: WorkerAddModel,
        description: 'The worker was waited for, and is ready.',
        headers: { location: LOCATION, 'preference-applied': APPLIED },
      }),
      refused('BAD_REQUEST'),
      refused('WORKER_ALREADY_EXISTS'),
      refused('WORKER_REGISTRATION_FAILED'),
      refused('INTERNAL_SERVER_ERROR'),
      ...BODY_REFUSALS,
    ],
    list: [
      ApiOperation({ summary: 'List the workers' }),
      ApiQuery({
        name: 'model',
        required: false,
        schema: { type: 'string' },
        description: 'Only workers that serve this model.',
      }),
      ApiResponse({ status: 200, type: WorkerListModel, description: 'The workers.' }),
    ],
    find: [
      ApiOperation({ summary: 'One worker', description: 'Also one that is being registered.' }),
      ID,
      ApiResponse({ status: 200, type: WorkerInfoModel, description: 'The worker.' }),
      refused('BAD_REQUEST'),
      refused('WORKER_NOT_FOUND'),
    ],
    replace: [
      ApiOperation({
        summary: 'Replace the specification of a worker',
        description:
          'With the same `url`. Id, load and requests in flight stay; a left-out `api_key` is kept.',
      }),
      ID,
      ApiBody({
        type: WorkerSpecDto,
        examples: {
          labels: {
            summary: 'New labels',
            value: { url: 'http://127.0.0.1:31001', labels: { gpu_class: 'h200' } },
          },
        },
      }),
      CHANGED,
      refused('BAD_REQUEST'),
      refused('WORKER_NOT_FOUND'),
      refused('INTERNAL_SERVER_ERROR'),
      ...BODY_REFUSALS,
    ],
    patch: [
      ApiOperation({ summary: 'Change some members of a worker' }),
      ID,
      ApiBody({
        type: WorkerPatchDto,
        examples: {
          labels: { summary: 'Another label', value: { labels: { gpu_class: 'l4' } } },
          priority: { summary: 'Another priority', value: { priority: 60 } },
        },
      }),
      CHANGED,
      refused('BAD_REQUEST'),
      refused('WORKER_NOT_FOUND'),
      refused('INTERNAL_SERVER_ERROR'),
      ...BODY_REFUSALS,
    ],
    remove: [
      ApiOperation({
        summary: 'Remove a worker',
        description:
          'It gets no new requests, and leaves once it has settled. A second call ends the wait.',
      }),
      ID,
      CHANGED,
      refused('BAD_REQUEST'),
      refused('WORKER_NOT_FOUND'),
      refused('INTERNAL_SERVER_ERROR'),
    ],
  },
};
