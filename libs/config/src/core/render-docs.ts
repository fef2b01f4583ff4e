import { defaultOf, fileKeysOf } from './option-text';
import { OPTION_CHAPTERS } from './option-table';
import { type AnyOption } from './option';

const HEAD = `# Configuration

<!-- Generated from the option table by \`npm run config:docs\`; do not edit. -->

Every option of the gateway. A value comes from, in this order: its flag, its environment variable,
the config file, its default.

- **Flags** are long: \`--flag value\` or \`--flag=value\`. A \`flag\` is switched on by its presence. A
  \`list\` takes zero or more values after one occurrence; an \`append\` takes one per occurrence (or
  several); repeats of both add up. A \`csv\` is split at commas. Any other flag that is repeated counts
  with its last value, and a warning says so. Flags belong after the command: \`smg launch --port 8000\`,
  or no command at all: \`smg --port 8000\`. A value that starts with \`-\` is given with \`=\`.
- **Environment variables** are read only where one is named below; an empty one counts as unset.
- **Config file**: \`--config file.json\`, one flat JSON object. Keys are flags with underscores
  (\`worker_urls\`), in any spelling listed below; \`flag\` values are \`true\` or \`false\`, lists are arrays,
  \`null\` leaves an option without a default unset. An unknown key stops the start. The RL options may
  also stand in an object: \`"rl": {"enabled": true, "version_policy": "latest-only"}\`, with
  \`control_timeout_secs\` and \`fanout_concurrency\`.
- \`--check-config\` validates and exits; \`--print-config\` prints the effective configuration as such
  a file, secrets as \`***\`.

A value that breaks a rule stops the start with exit code 2 and a line that names the option, the value
(never a secret) and the rule. Times above 2147483 seconds (24 days) are cut to that, with a warning.

Marks: **ours** is not part of the SMG command line this gateway follows; **no effect** is accepted so
that launch scripts keep working, with a warning; **not yet** stops the start when it is given at all.`;

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
}

function mark(option: AnyOption): string {
  if (option.availability === 'unavailable') return '**Not yet.** ';
  if (option.availability === 'inert') return `**No effect**: ${option.inertBecause}. `;
  return option.ours ? '**Ours.** ' : '';
}

function row(option: AnyOption): string {
  const spellings = [option.flag, ...option.aliases].map((flag) => `\`--${flag}\``);
  const env = option.env === undefined ? '' : `, env \`${option.env}\``;
  const key = fileKeysOf(option).length === 0 ? ' Command line only.' : '';
  return `| ${[
    spellings.join(', ') + env,
    cell(option.kind.label),
    cell(defaultOf(option)),
    cell(option.kind.rule),
    mark(option) + cell(option.doc) + key,
  ].join(' | ')} |`;
}

/** The reference page of every option, as Markdown; ends with a newline. */
export function renderConfigurationDocs(): string {
  const chapters = OPTION_CHAPTERS.map(({ title, options }) =>
    [
      `## ${title}`,
      '',
      '| option | type | default | rule | meaning |',
      '| --- | --- | --- | --- | --- |',
      ...options.map(row),
    ].join('\n'),
  );
  return `${[HEAD, ...chapters].join('\n\n')}\n`;
}
