import { type GivenValue } from './given-value';
import { jsonFault } from './json-fault';
import { nearest } from './nearest';
import { OPTIONS_BY_FILE_KEY, OPTIONS_BY_FLAG } from './option-table';
import { type AnyOption } from './option';
import { show } from './show';

export interface ConfigFileReading {
  readonly given: readonly GivenValue[];
  readonly problems: readonly string[];
}

/** Keys of SMG's nested `rl` object, by the flat key each stands for. */
const RL_MEMBERS: ReadonlyMap<string, string> = new Map([
  ['enabled', 'enable_rl'],
  ['control_timeout_secs', 'rl_control_timeout_secs'],
  ['fanout_concurrency', 'rl_fanout_concurrency'],
  ['version_policy', 'rl_version_policy'],
]);

/** Key as written, the flat key it stands for, and its value. */
type Member = readonly [key: string, name: string, value: unknown];

function membersOf(json: object): Member[] {
  return Object.entries(json).flatMap(([key, value]: [string, unknown]): Member[] => {
    if (key !== 'rl' || typeof value !== 'object' || Array.isArray(value)) {
      return [[key, key, value]];
    }
    // `null` is an absent object there.
    return Object.entries(value ?? {}).map(([name, member]: [string, unknown]) => {
      const path = `rl.${name}`;
      return [path, RL_MEMBERS.get(name) ?? path, member];
    });
  });
}

/**
 * Reads the text of a config file: one flat JSON object whose keys are flags in snake_case. The RL
 * options may also stand in an object `rl`, as SMG writes them.
 */
export function readConfigFile(path: string, text: string): ConfigFileReading {
  const plain = text.replace(/^\uFEFF/, '');
  let json: unknown;
  try {
    json = JSON.parse(plain);
  } catch {
    const { line, column } = jsonFault(plain);
    return refuse(`--config: ${show(path)} is not JSON (line ${line}, column ${column})`);
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    return refuse(`--config: ${show(path)} does not hold a JSON object`);
  }

  const given: GivenValue[] = [];
  const problems: string[] = [];
  const seen = new Map<AnyOption, string>();
  for (const [key, name, value] of membersOf(json)) {
    const option = OPTIONS_BY_FILE_KEY.get(name);
    const before = option && seen.get(option);
    if (option === undefined) problems.push(unknownKey(key));
    else if (before !== undefined) {
      problems.push(`${key} (config file): is another spelling of ${before}, also given`);
    } else {
      seen.set(option, key);
      given.push({ option, label: `${key} (config file)`, raw: { form: 'json', value } });
    }
  }
  return { given, problems };
}

function refuse(problem: string): ConfigFileReading {
  return { given: [], problems: [problem] };
}

function unknownKey(key: string): string {
  const label = `${show(key)} (config file)`;
  if (OPTIONS_BY_FLAG.get(key.replaceAll('_', '-'))?.availability === 'command') {
    return `${label}: belongs on the command line`;
  }
  const near = nearest(key, OPTIONS_BY_FILE_KEY.keys());
  return `${label}: unknown key${near === undefined ? '' : `; did you mean ${near}?`}`;
}
