import { readFileSync } from 'node:fs';
import { CommanderError, type Command } from 'commander';
import { EXIT, RlFailure } from './rl-failure';
import { rlCommand } from './rl-flags';
import { rlActions } from './rl.actions';
import { type RlProgram } from './rl-program';

/**
 * `smg rl`: works a fleet over the HTTP API of its gateway.
 * @returns the exit code: 0, 1 when an engine failed, 2 for a bad line or a gateway that refuses.
 */
export async function rl(
  argv: readonly string[],
  program: Omit<RlProgram, 'readFile'>,
): Promise<number> {
  let exitCode: number = EXIT.ok;
  const { env, stdout, stderr } = program;
  // Whoever read it is gone; that must not cut a refit, which would leave engines paused.
  for (const screen of [stdout, stderr]) screen.on?.('error', () => undefined);
  const outside: RlProgram = {
    ...{ env, stdout, stderr },
    readFile: (path) => readFileSync(path, 'utf8'),
    on: (signal, listener) => program.on(signal, listener),
    exit: (code) => {
      program.exit(code);
    },
  };
  const command = rlCommand(rlActions(outside), (code) => {
    exitCode = code;
  });
  for (const each of [command, ...command.commands]) prepare(each, program);
  try {
    await command.parseAsync([...argv], { from: 'user' });
    return exitCode;
  } catch (error) {
    // Commander has printed its text already; without a command it prints its help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.refused;
    if (!(error instanceof RlFailure)) throw error;
    program.stderr.write(`error: ${error.message}\n`);
    return error.exitCode;
  }
}

function prepare(command: Command, { stdout, stderr }: Pick<RlProgram, 'stdout' | 'stderr'>): void {
  command.exitOverride().configureOutput({
    writeOut: (text) => stdout.write(text),
    writeErr: (text) => stderr.write(text),
    // Whoever writes --token=… gets told that there is no such flag, not what it said.
    outputError: (text, write) => {
      write(text.replaceAll(/(--?[\w-]+)=[^\n]*/g, '$1'));
    },
  });
}
