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

/** Reads the text of a config file: one flat JSON object whose keys are flags in snake_case. */
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
  for (const [key, value] of Object.entries(json)) {
    const option = OPTIONS_BY_FILE_KEY.get(key);
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
