#!/usr/bin/env node
import './runtime/install';
import 'reflect-metadata';
import { launch } from './cli/launch.command';

/** The program: a sub-command, or flags alone for `launch`. The only place that ends the process. */
async function main(argv: readonly string[]): Promise<number | undefined> {
  switch (argv[0]) {
    case 'serve':
      return (await import('./cli/serve/serve.command.js')).serve(argv.slice(1), process);
    case 'rl':
      return (await import('./cli/rl/rl.command.js')).rl(argv.slice(1), process);
    case 'mock-engine':
      return (await import('./cli/mock-engine.command.js')).mockEngine(argv.slice(1));
    case 'config-docs':
      return (await import('./cli/config-docs.command.js')).writeConfigDocs();
    case 'openapi':
      return (await import('./cli/openapi.command.js')).writeOpenApi(argv.slice(1));
    default:
      return launch(argv, process);
  }
}

process.on('unhandledRejection', (reason) => {
  // A fault of ours: say so and go on serving; one lost promise must not end a training run.
  console.error(
    JSON.stringify({
      level: 'error',
      time: Date.now(),
      target: 'smg::process',
      msg: 'unhandled rejection',
      err: reason instanceof Error ? (reason.stack ?? reason.message) : String(reason),
    }),
  );
});

void main(process.argv.slice(2)).then(
  (code) => {
    if (code !== undefined) process.exit(code);
  },
  (error: unknown) => {
    console.error(`error: ${error instanceof Error ? error.message : String(error)}`);
    process.exit(1);
  },
);
