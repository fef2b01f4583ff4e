import { type GivenValue } from '../given-value';
import { type AnyOption, type AvailableOption } from '../option';
import { SERVE_OPTIONS, type ServeSettings } from './serve.options';

export interface ServeReading {
  readonly settings: ServeSettings;
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

/** Flags first, then the environment, then defaults. A problem leaves the default in its place. */
export function readServeSettings(
  given: readonly GivenValue[],
  env: Readonly<Record<string, string | undefined>>,
): ServeReading {
  const rows: readonly AvailableOption[] = SERVE_OPTIONS;
  const problems: string[] = [];
  const warnings: string[] = [];
  const values: Record<string, unknown> = {};
  for (const option of rows) {
    const source = given.find((one) => one.option === option) ?? fromEnvironment(option, env);
    const name = option.key.slice('serve.'.length);
    values[name] = option.default;
    if (source?.raw.form !== 'words') continue;
    const parsed = option.kind.fromArgs(source.raw.words);
    if (!parsed.ok) problems.push(`${source.label}: ${parsed.problem}`);
    else {
      values[name] = parsed.value;
      if (parsed.note !== undefined) warnings.push(`${source.label}: ${parsed.note}`);
    }
  }
  // The table is what ServeSettings is computed from, so the shapes agree by construction.
  return { settings: Object.freeze(values) as unknown as ServeSettings, problems, warnings };
}

function fromEnvironment(
  option: AnyOption,
  env: Readonly<Record<string, string | undefined>>,
): GivenValue | undefined {
  const word = option.env === undefined ? undefined : env[option.env];
  if (option.env === undefined || word === undefined || word === '') return undefined;
  return {
    option,
    label: `--${option.flag} (${option.env})`,
    raw: { form: 'words', words: [word] },
  };
}
