import { Command, InvalidArgumentError, Option } from 'commander';
import { type CommonFlags } from './rl-settings';

/** A fan-out has no deadline of its own, so there is room for more than one call. In seconds. */
const DEFAULT_TIMEOUT = 660;
/** Timers hold no more. */
const MAX_TIMEOUT = 2_147_483;

export interface CallFlags extends CommonFlags {
  readonly method: 'GET' | 'POST';
  readonly body?: string;
  readonly bodyFile?: string;
  readonly param?: readonly (readonly [string, string])[];
}

export interface WriteFlags extends CommonFlags {
  readonly worker?: string;
  readonly selector?: string;
}

export interface RefitFlags extends CommonFlags {
  readonly modelPath: string;
  readonly weightVersion: string;
  readonly selector: string;
  readonly mode?: string;
  readonly concurrency: number;
  readonly keepFailedPaused?: boolean;
}

/** What the commands do; each resolves with the exit code. */
export interface RlActions {
  workers(worker: string | undefined, flags: CommonFlags): Promise<number>;
  call(worker: string, path: string, flags: CallFlags): Promise<number>;
  fanout(path: string, flags: CallFlags & { readonly selector: string }): Promise<number>;
  setVersion(version: string, flags: WriteFlags): Promise<number>;
  setState(control: string, flags: WriteFlags): Promise<number>;
  refit(flags: RefitFlags): Promise<number>;
}

/** `smg rl` and its commands. @param done gets the exit code of the one that was run. */
export function rlCommand(actions: RlActions, done: (exitCode: number) => void): Command {
  const rl = new Command('smg rl')
    // The reference page shows these texts; they do not depend on a terminal.
    .configureOutput({ getOutHelpWidth: () => 100, getErrHelpWidth: () => 100 })
    .description(
      'Look at the rollout engines behind a gateway, call them, and give them new weights.\n' +
        'The token of an operator is read from SMG_ADMIN_TOKEN or a file, never from the command line.',
    )
    .helpCommand(false);
  const add = (usage: string, description: string): Command =>
    withCommonFlags(rl.command(usage).description(description));

  add('workers', 'List the engines, or show one.')
    .argument('[worker]', 'id or URL of one')
    .action(async (worker: string | undefined, flags: CommonFlags) => {
      done(await actions.workers(worker, flags));
    });
  withCallFlags(add('call', 'Call a route of one engine and print what it answers.'))
    .argument('<worker>', 'id or URL')
    .argument('<path>', "the engine's own, such as pause_generation")
    .action(async (worker: string, path: string, flags: CallFlags) => {
      done(await actions.call(worker, path, flags));
    });
  withCallFlags(add('fanout', 'Make the same call to every engine that matches.'))
    .argument('<path>', "the engines' own")
    .requiredOption('--selector <selector>', 'which engines, such as engine=sglang')
    .action(async (path: string, flags: CallFlags & { readonly selector: string }) => {
      done(await actions.fanout(path, flags));
    });
  withTargetFlags(add('set-version', 'Record which weights engines have. No engine is called.'))
    .argument('<version>', 'weight version')
    .action(async (version: string, flags: WriteFlags) => {
      done(await actions.setVersion(version, flags));
    });
  withTargetFlags(add('set-state', 'Record the state of engines. No engine is called.'))
    .argument('<state>', 'active, paused or asleep')
    .action(async (control: string, flags: WriteFlags) => {
      done(await actions.setState(control, flags));
    });
  withRefitFlags(add('refit', 'Pause engines, have them load a checkpoint, resume them.')).action(
    async (flags: RefitFlags) => {
      done(await actions.refit(flags));
    },
  );
  return rl;
}

function withCommonFlags(command: Command): Command {
  return command
    .option('--url <url>', 'gateway (default: SMG_URL, or else http://127.0.0.1:30000)')
    .option('--token-file <path>', 'file with the token of an operator (default: SMG_ADMIN_TOKEN)')
    .option(
      '--timeout <seconds>',
      'deadline of one request',
      whole(1, MAX_TIMEOUT),
      DEFAULT_TIMEOUT,
    )
    .option('--json', 'print JSON instead of text');
}

function withCallFlags(command: Command): Command {
  return command
    .addOption(
      new Option('--method <method>', 'of the call').choices(['GET', 'POST']).default('POST'),
    )
    .option('--body <json>', 'sent as it is; empty sends none (default: {} with POST)')
    .option('--body-file <path>', 'the same from a file; - is the standard input')
    .option('--param <name=value>', 'query parameter; may be repeated', addParam);
}

function withTargetFlags(command: Command): Command {
  return command
    .option('--worker <worker>', 'id or URL of one engine')
    .option('--selector <selector>', 'every engine that matches');
}

function withRefitFlags(command: Command): Command {
  return command
    .requiredOption('--model-path <path>', 'checkpoint, as every engine sees it')
    .requiredOption('--weight-version <version>', 'its version; whole numbers that grow')
    .requiredOption('--selector <selector>', 'which engines, such as engine=sglang')
    .option(
      '--mode <mode>',
      "pause mode, in the engine's own words (default: the engine's; vLLM: keep)",
    )
    .option('--concurrency <n>', 'engines worked on at a time', whole(1, 1024), 32)
    .option('--keep-failed-paused', 'do not resume an engine whose load failed');
}

function addParam(
  text: string,
  sofar: readonly (readonly [string, string])[] = [],
): readonly (readonly [string, string])[] {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('give <name>=<value>.');
  return [...sofar, [text.slice(0, at), text.slice(at + 1)]];
}

function whole(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`give a whole number from ${min} to ${max}.`);
    }
    return value;
  };
}
