import { RL_ERROR_STATUS, rlErrors } from './rl-error';

const worker = { id: 'id-1', url: 'http://a:1' };

it.each([
  [rlErrors.invalidEnginePath('path is empty'), 400, 'invalid engine path: path is empty', {}],
  [rlErrors.selectorRequired(), 400, 'a non-empty `selector` query parameter is required', {}],
  [
    rlErrors.invalidSelector(7, 'expected a value'),
    400,
    'invalid selector at byte 7: expected a value',
    { offset: 7 },
  ],
  [rlErrors.noWorkersMatch('a=b'), 400, 'no workers match selector `a=b`', { selector: 'a=b' }],
  [rlErrors.invalidBody('no'), 400, 'no', {}],
  [rlErrors.invalidVersion('weight_version is empty'), 400, 'weight_version is empty', {}],
  [rlErrors.invalidVersionPolicy('x'), 400, 'x', {}],
  [rlErrors.workerNotFound('id-1'), 404, 'worker `id-1` not found', { id: 'id-1' }],
  [
    rlErrors.unsupportedConnectionMode(worker, 'grpc'),
    422,
    'worker `id-1` uses connection mode `grpc`, which cannot be proxied',
    { worker_id: 'id-1', url: 'http://a:1', connection_mode: 'grpc' },
  ],
  [
    rlErrors.upstreamUnreachable(worker, 'refused'),
    502,
    'upstream `http://a:1` unreachable: refused',
    { worker_id: 'id-1', url: 'http://a:1' },
  ],
  [
    rlErrors.upstreamTimeout(worker, 1),
    504,
    'upstream `http://a:1` timed out after 1s',
    { worker_id: 'id-1', url: 'http://a:1' },
  ],
])('%s', (error, status, message, context) => {
  expect(error.status).toBe(status);
  expect(RL_ERROR_STATUS[error.code]).toBe(status);
  expect(error.body()).toEqual({ error: error.code, message, ...context });
});
