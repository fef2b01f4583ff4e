import { type ReadinessVerdict } from './health-board';

/** Status and body of GET /readiness, on every listener. */
export interface ReadinessAnswer {
  readonly status: 200 | 503;
  readonly body: string;
}

export function renderReadiness(verdict: ReadinessVerdict): ReadinessAnswer {
  if (verdict.reason !== undefined) {
    return {
      status: 503,
      body: JSON.stringify({ status: 'not ready', reason: verdict.reason }),
    };
  }
  return {
    status: 200,
    body: JSON.stringify({
      status: 'ready',
      healthy_workers: verdict.healthyWorkers,
      total_workers: verdict.totalWorkers,
    }),
  };
}
