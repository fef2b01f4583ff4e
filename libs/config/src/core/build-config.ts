import { ConfigError } from './config-error';
import { crossCheck } from './cross-checks';
import { deepFreeze } from './deep-freeze';
import { type GatewayConfig } from './gateway-config';
import { type GivenValue } from './given-value';
import { idleWarnings } from './idle-options';
import { AVAILABLE_OPTIONS } from './option-table';
import { type AnyOption, type InertOption } from './option';
import { good, type Parsed } from './parsed';

export interface BuildOptions {
  /** Accept policy names that no built-in has, also when no `--plugin` is given. */
  readonly pluginPolicies?: boolean;
  /** Accept port 0, which asks the system for a free port. */
  readonly ephemeralPorts?: boolean;
}

const PORT_FLAGS: ReadonlySet<string> = new Set(['port', 'health-check-port', 'prometheus-port']);

export interface BuiltConfig {
  readonly config: GatewayConfig;
  readonly warnings: readonly string[];
}

/**
 * The one place where sources meet: the last good value of an option wins, so `given` is ordered
 * file, environment, flags. Every value is read, also one that is overridden: a broken file is
 * broken whatever the flags say.
 * @throws ConfigError with every problem found.
 */
export function buildConfig(given: readonly GivenValue[], options: BuildOptions = {}): BuiltConfig {
  const values = new Map<AnyOption, unknown>();
  const labels = new Map<string, string>();
  const problems: string[] = [];
  const warnings: string[] = [];

  for (const item of given) {
    const { option, label } = item;
    if (option.availability === 'unavailable') {
      problems.push(`${label}: not available in this version`);
      continue;
    }
    const parsed = read(item, options.ephemeralPorts === true);
    if (!parsed.ok) {
      problems.push(`${label}: ${parsed.problem}`);
      continue;
    }
    if (option.availability === 'inert') {
      if (parsed.value !== false) warnings.push(inertWarning(option, label));
      continue;
    }
    if (parsed.note !== undefined) warnings.push(`${label}: ${parsed.note}`);
    values.set(option, parsed.value);
    labels.set(option.flag, label);
  }
  if (problems.length > 0) throw new ConfigError(problems);

  const config = assemble(values);
  const label = (flag: string): string => labels.get(flag) ?? `--${flag}`;
  const conflicts = crossCheck(config, label, {
    pluginPolicies: options.pluginPolicies === true || config.plugins.modules.length > 0,
  });
  if (conflicts.length > 0) throw new ConfigError(conflicts);
  warnings.push(...idleWarnings(config, label));
  return { config, warnings };
}

function read({ option, raw }: GivenValue, ephemeralPorts: boolean): Parsed<unknown> {
  if (raw.form === 'words') return option.kind.fromArgs(raw.words);
  if (ephemeralPorts && raw.value === 0 && PORT_FLAGS.has(option.flag)) return good(0);
  return option.kind.fromJson(raw.value);
}

function inertWarning(option: InertOption, label: string): string {
  return `${label} has no effect: ${option.inertBecause}`;
}

function assemble(values: ReadonlyMap<AnyOption, unknown>): GatewayConfig {
  const sections: Record<string, Record<string, unknown>> = {};
  for (const option of AVAILABLE_OPTIONS) {
    const [section = '', name = ''] = option.key.split('.', 2);
    (sections[section] ??= {})[name] = values.has(option) ? values.get(option) : option.default;
  }
  // The table is what GatewayConfig is computed from, so the shapes agree by construction.
  return deepFreeze(sections) as unknown as GatewayConfig;
}
