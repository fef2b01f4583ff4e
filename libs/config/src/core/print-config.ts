import { type GatewayConfig } from './gateway-config';
import { AVAILABLE_OPTIONS } from './option-table';
import { fileKey } from './option';

/**
 * The configuration as the JSON of a config file, secrets masked. Without secrets, the text given
 * back as `--config` yields the same configuration.
 */
export function printConfig(config: GatewayConfig): string {
  const sections = config as unknown as Record<string, Record<string, unknown>>;
  const json: Record<string, unknown> = {};
  for (const option of AVAILABLE_OPTIONS) {
    const [section = '', name = ''] = option.key.split('.', 2);
    json[fileKey(option.flag)] = option.kind.toJson(sections[section]?.[name]);
  }
  return JSON.stringify(json, undefined, 2);
}
