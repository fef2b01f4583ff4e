import { rlCommand } from '../../../src/cli/rl/rl-flags';

const never = async (): Promise<number> => 0;

/** `smg rl`, which does nothing. */
export const RL_COMMAND = rlCommand(
  {
    ...{ workers: never, call: never, fanout: never },
    ...{ setVersion: never, setState: never, refit: never },
  },
  () => undefined,
);

/** Every flag of any of its commands. */
export function rlFlags(): ReadonlySet<string> {
  const all = RL_COMMAND.commands.flatMap(({ options }) => options.map(({ long }) => long ?? ''));
  return new Set([...all, '--help']);
}
