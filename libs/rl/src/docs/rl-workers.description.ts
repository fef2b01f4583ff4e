import { ApiBody, ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import { type RouteDescriptions } from '@smg/plugin-api';
import { RL_TAG, RL_TOO_LARGE, RlErrors, WORKER_ID } from './rl-responses';
import {
  CONTROL_EXAMPLES,
  RlSetControlModel,
  RlSetVersionModel,
  VERSION_EXAMPLES,
} from './rl-set.models';
import { RlWorkerEntryModel } from './rl-worker-entry.model';
import { RlWorkersResponseModel } from './rl-workers-response.model';

type Route = 'list' | 'find' | 'setVersion' | 'setState';

const ROW = ApiOkResponse({ type: RlWorkerEntryModel, description: 'The row of the engine.' });

export const RL_WORKERS_DESCRIPTION: RouteDescriptions<Route> = {
  controller: [RL_TAG],
  methods: {
    list: [
      ApiOperation({
        summary: 'List the engines',
        description: 'Data-parallel ranks of one engine are one row.',
      }),
      ApiOkResponse({ type: RlWorkersResponseModel, description: 'Every engine.' }),
      RlErrors(),
    ],
    find: [ApiOperation({ summary: 'One engine' }), WORKER_ID, ROW, RlErrors('worker_not_found')],
    setVersion: [
      ApiOperation({
        summary: 'Record the weight version an engine holds',
        description: 'The engine is not called.',
      }),
      WORKER_ID,
      ApiBody({ type: RlSetVersionModel, examples: VERSION_EXAMPLES }),
      ROW,
      RlErrors('invalid_body', 'invalid_version', 'worker_not_found'),
      RL_TOO_LARGE,
    ],
    setState: [
      ApiOperation({
        summary: 'Record the control state of an engine',
        description: 'The engine is not called.',
      }),
      WORKER_ID,
      ApiBody({ type: RlSetControlModel, examples: CONTROL_EXAMPLES }),
      ROW,
      RlErrors('invalid_body', 'worker_not_found'),
      RL_TOO_LARGE,
    ],
  },
};
