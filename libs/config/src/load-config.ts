import { buildConfig, type BuildOptions } from './core/build-config';
import { ConfigError } from './core/config-error';
import { type GatewayConfig, type PartialGatewayConfig } from './core/gateway-config';
import { type GivenValue } from './core/given-value';
import { AVAILABLE_OPTIONS } from './core/option-table';
import { show } from './core/show';

const BY_KEY = new Map(AVAILABLE_OPTIONS.map((option) => [option.key, option]));
const SECTIONS = new Set(AVAILABLE_OPTIONS.map((option) => option.key.split('.', 1)[0]));

/**
 * A validated configuration for a program that embeds the gateway: the members given, the defaults
 * of the command line for the rest. Every rule of the command line holds.
 * @throws ConfigError with every problem found.
 */
export function loadConfig(
  partial: PartialGatewayConfig = {},
  options: BuildOptions = {},
): GatewayConfig {
  const given: GivenValue[] = [];
  const problems: string[] = [];
  for (const [section, members] of Object.entries(partial) as [string, unknown][]) {
    if (!SECTIONS.has(section)) problems.push(`${show(section)}: unknown section`);
    else if (typeof members !== 'object' || members === null) {
      problems.push(`${section}: is not an object`);
    } else {
      for (const [name, value] of Object.entries(members) as [string, unknown][]) {
        const key = `${section}.${name}`;
        const option = BY_KEY.get(key);
        if (option === undefined) problems.push(`${show(key)}: unknown option`);
        else if (value !== undefined) {
          given.push({ option, label: key, raw: { form: 'json', value } });
        }
      }
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return buildConfig(given, options).config;
}
