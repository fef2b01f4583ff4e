import { operationLabel } from './operation-label';

it.each(['pause_generation', 'wake_up', 'health', 'get_server_info', 'collective_rpc'])(
  '%s is a label of its own',
  (path) => {
    expect(operationLabel(path)).toBe(path);
  },
);

it.each(['', 'v1/pause', 'pause/', 'Pause', 'generate', 'constructor', 'x'.repeat(1000)])(
  '%.20j is other',
  (path) => {
    expect(operationLabel(path)).toBe('other');
  },
);
