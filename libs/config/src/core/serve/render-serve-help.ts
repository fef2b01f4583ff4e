import { defaultOf, usageOf } from '../option-text';
import { type AnyOption } from '../option';
import { SERVE_OPTIONS } from './serve.options';

const HEAD = `Usage: smg serve [flags] [--router-<flag of smg launch>...] [flags of the engine...]

Starts engines on this machine, waits until they are ready, and runs the gateway in front of them.
All other arguments, and everything after --, go to each engine as they are.

  smg serve --model-path /models/m --data-parallel-size 2 --tp-size 4 --router-policy round_robin

Flags:`;

const TAIL = `  --router-<flag>
      Any flag of smg launch but --host, --port and --worker-urls, for the gateway
  -h, --help
      Print this text`;

/** Text of `smg serve --help`. */
export function renderServeHelp(): string {
  const rows: readonly AnyOption[] = SERVE_OPTIONS;
  return [HEAD, ...rows.map(entry), TAIL].join('\n');
}

function entry(option: AnyOption): string {
  const notes: string[] = [];
  if (option.kind.arity !== 'none') notes.push(`default: ${defaultOf(option)}`);
  if (option.kind.rule !== '') notes.push(option.kind.rule);
  if (option.aliases.length > 0) notes.push(`also --${option.aliases.join(', --')}`);
  if (option.env !== undefined) notes.push(`env: ${option.env}`);
  const bracket = notes.length === 0 ? '' : `\n      [${notes.join('] [')}]`;
  return `  ${usageOf(option)}\n      ${option.doc}${bracket}`;
}
