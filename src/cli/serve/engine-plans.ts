import { type GatewayConfig, OPTION_TABLE, type ServeSettings, workerUrlOf } from '@smg/config';
import { checkBackend } from './backend-check';
import { engineCommand } from './engine-command';
import { type EnginePlan } from './engine.process';
import { canBind, findPorts } from './free-ports';
import { gpusPerEngine, gpuSlices } from './gpu-slices';
import { ServeError } from './serve-error';

type Environment = Readonly<Record<string, string | undefined>>;

export interface ServeOrder {
  readonly serve: ServeSettings;
  readonly engineArgs: readonly string[];
  readonly config: GatewayConfig;
}

/** Secrets of the gateway, which are no business of an engine. */
const SECRETS: readonly string[] = [
  'SMG_ADMIN_TOKEN',
  ...OPTION_TABLE.flatMap(({ env, secret }) => (secret && env !== undefined ? [env] : [])),
];

/**
 * What is to be started, with everything checked that can be before a model is loaded for minutes.
 * @throws ServeError when it cannot be.
 */
export async function planEngines(order: ServeOrder, env: Environment): Promise<EnginePlan[]> {
  const { serve, engineArgs, config } = order;
  const { workerHost, engines } = serve;
  const own = await checkOwnPorts(config);
  const gpus = gpuSlices(env['CUDA_VISIBLE_DEVICES'], engines, gpusPerEngine(engineArgs));
  const ports = await findPorts(serve.workerBasePort, engines, {
    random: Math.random,
    isFree: async (port) =>
      !own.includes(port) &&
      (await canBind('127.0.0.1', port)) &&
      (await canBind(workerHost, port)),
  });
  const plans = ports.map((port, index) => ({
    index,
    url: workerUrlOf(workerHost, port),
    command: engineCommand(serve, engineArgs, workerHost, port),
    env: engineEnvironment(env, gpus[index] ?? ''),
  }));
  const [first] = plans;
  if (serve.engineCommand === undefined && first !== undefined) {
    await checkBackend(first.command, first.env);
  }
  return plans;
}

function engineEnvironment(env: Environment, gpus: string): Environment {
  const kept = Object.entries(env).filter(([name]) => !SECRETS.includes(name));
  // Unbuffered, or the last lines before a crash are lost.
  return { ...Object.fromEntries(kept), CUDA_VISIBLE_DEVICES: gpus, PYTHONUNBUFFERED: '1' };
}

/** @returns the ports the gateway will listen on. @throws ServeError when one is taken. */
async function checkOwnPorts({ listener, observability }: GatewayConfig): Promise<number[]> {
  const { host, port, healthCheckPort } = listener;
  const { prometheusHost, prometheusPort } = observability;
  const wanted: [flag: string, host: string, port: number | undefined][] = [
    ['--port', host, port],
    ['--router-health-check-port', host, healthCheckPort],
    ['--router-prometheus-port', prometheusHost, prometheusPort],
  ];
  const own: number[] = [];
  for (const [flag, at, number] of wanted) {
    if (number === undefined) continue;
    if (!(await canBind(at, number))) {
      throw new ServeError(`${flag} ${number}: cannot be listened on at ${at}; is it taken?`);
    }
    own.push(number);
  }
  return own;
}
