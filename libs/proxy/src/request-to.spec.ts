import { ClientHead } from './core/client-head';
import { INFERENCE_ROUTES } from './core/inference-routes';
import { requestTo, type Sending } from './request-to';
import { type RunParts } from './run.parts';
import { type RoutableWorker } from './run.services';

const [route] = INFERENCE_ROUTES;

function headersFor(dpRank: number | undefined): string[] {
  const head = new ClientHead(['X-Session-ID', 's', 'X-Data-Parallel-Rank', '3']);
  const sending: Sending = {
    parts: { route, query: '', head } as RunParts,
    pathIndex: 0,
    passAuthorization: false,
    sent: undefined,
  };
  const worker = { baseUrl: 'http://a:1', apiKey: undefined, dpRank } as RoutableWorker;
  return [...requestTo(worker, sending).headers];
}

describe('requestTo', () => {
  it("passes a client's rank on", () => {
    expect(headersFor(undefined)).toEqual(
      expect.arrayContaining(['x-session-id', 's', 'x-data-parallel-rank', '3']),
    );
  });

  it('but not beside the rank the gateway has routed to', () => {
    const headers = headersFor(0);
    expect(headers).not.toContain('x-data-parallel-rank');
    expect(headers).not.toContain('3');
    expect(headers).toContain('x-session-id');
  });
});
