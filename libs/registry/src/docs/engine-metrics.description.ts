import { ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import { type RouteDescriptions } from '@smg/plugin-api';

const text = (example: string) => ({
  'text/plain': { schema: { type: 'string' as const }, example },
});

const PAGE = `# HELP sglang_num_running_reqs Running requests
# TYPE sglang_num_running_reqs gauge
sglang_num_running_reqs{model_name="mock-model",worker_addr="http://10.0.0.5:30000"} 3
`;

export const ENGINE_METRICS_DESCRIPTION: RouteDescriptions<'scrape'> = {
  controller: [ApiTags('Information')],
  methods: {
    scrape: [
      ApiOperation({
        summary: 'Metrics of every engine',
        description:
          'GET /metrics of each engine, merged: `:` in names becomes `_`, every series gains the label `worker_addr`. A page is at most one second old.',
      }),
      ApiResponse({ status: 200, description: 'Prometheus text.', content: text(PAGE) }),
      ApiResponse({
        status: 500,
        description: 'No worker is registered, or no engine answered.',
        content: text('No available workers'),
      }),
    ],
  },
};
