import { defaultOf, usageOf } from './option-text';
import { OPTION_CHAPTERS } from './option-table';
import { type AnyOption } from './option';

const HEAD = `Usage: smg [command] [flags]

A model gateway: one endpoint in front of a fleet of inference engines.

Commands:
  launch, start    Run the gateway (also what happens without a command)
  serve            Start engines on this machine and the gateway in front of them
  rl               Look at rollout engines and change their weights
  mock-engine      Run a mock engine to try the gateway with
  config-docs      Render the reference of every option
  openapi          Write docs/openapi.json

Flags take the forms --flag value and --flag=value. Flags win over environment
variables, those over the config file, that over the defaults.`;

const TAIL = `Help:
  -h, --help
      Print this text
  -V, --version
      Print the version
  --version-verbose
      Print the version in detail

Flags of SMG that this version does not have are listed in the reference of options.`;

function entry(option: AnyOption): string {
  const notes: string[] = [];
  if (option.kind.arity !== 'none') notes.push(`default: ${defaultOf(option).replaceAll('`', '')}`);
  if (option.kind.rule !== '') notes.push(option.kind.rule);
  if (option.aliases.length > 0) {
    notes.push(`also ${option.aliases.map((alias) => `--${alias}`).join(', ')}`);
  }
  if (option.env !== undefined) notes.push(`env: ${option.env}`);
  const doc =
    option.availability === 'inert'
      ? `Accepted, has no effect: ${option.inertBecause}`
      : option.doc.replaceAll('`', '');
  const bracket = notes.length === 0 ? '' : `\n      [${notes.join('] [')}]`;
  return `  ${usageOf(option)}\n      ${doc}${bracket}`;
}

/** Text of `--help`: what this version can do, by chapter. */
export function renderHelp(): string {
  const chapters = OPTION_CHAPTERS.map(({ title, options }) => ({
    title,
    usable: options.filter((option) => option.availability !== 'unavailable'),
  })).filter(({ usable }) => usable.length > 0);
  return [
    HEAD,
    ...chapters.map(({ title, usable }) => `${title}:\n${usable.map(entry).join('\n')}`),
    TAIL,
  ].join('\n\n');
}
