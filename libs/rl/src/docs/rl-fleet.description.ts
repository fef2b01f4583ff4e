import { ApiBody, ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import { type RouteDescriptions } from '@smg/plugin-api';
import { RL_TAG, RL_TOO_LARGE, RlErrors, SELECTOR } from './rl-responses';
import {
  CONTROL_EXAMPLES,
  RlSetControlModel,
  RlSetVersionModel,
  VERSION_EXAMPLES,
} from './rl-set.models';
import { RlWorkersResponseModel } from './rl-workers-response.model';

const ROWS = ApiOkResponse({
  type: RlWorkersResponseModel,
  description: 'The rows of the engines that match.',
});

export const RL_FLEET_DESCRIPTION: RouteDescriptions<'setVersion' | 'setState'> = {
  controller: [RL_TAG],
  methods: {
    setVersion: [
      ApiOperation({
        summary: 'Record the weight version of every engine that matches',
        description: 'No engine is called.',
      }),
      SELECTOR,
      ApiBody({ type: RlSetVersionModel, examples: VERSION_EXAMPLES }),
      ROWS,
      RlErrors(
        'invalid_body',
        'invalid_version',
        'selector_required',
        'invalid_selector',
        'no_workers_match',
      ),
      RL_TOO_LARGE,
    ],
    setState: [
      ApiOperation({
        summary: 'Record the control state of every engine that matches',
        description: 'No engine is called.',
      }),
      SELECTOR,
      ApiBody({ type: RlSetControlModel, examples: CONTROL_EXAMPLES }),
      ROWS,
      RlErrors('invalid_body', 'selector_required', 'invalid_selector', 'no_workers_match'),
      RL_TOO_LARGE,
    ],
  },
};
