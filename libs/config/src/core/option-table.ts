import { fileKey, type AnyOption, type AvailableOption } from './option';
import { AUTH_OPTIONS, TLS_OPTIONS } from './options/auth.options';
import { DISCOVERY_OPTIONS, MESH_OPTIONS, PD_OPTIONS, RL_OPTIONS } from './options/fleet.options';
import { LISTENER_OPTIONS, TOKENIZER_OPTIONS } from './options/listener.options';
import { OBSERVABILITY_OPTIONS } from './options/observability.options';
import { PROGRAM_OPTIONS } from './options/program.options';
import { ADMISSION_OPTIONS, REQUEST_OPTIONS } from './options/requests.options';
import { RESILIENCE_OPTIONS } from './options/resilience.options';
import { ROUTING_OPTIONS } from './options/routing.options';
import { STORAGE_OPTIONS } from './options/storage.options';

/** The table by chapter, in the order of `--help` and of the reference page. */
const CHAPTERS = [
  { title: 'Program', options: PROGRAM_OPTIONS },
  { title: 'Listener and workers', options: LISTENER_OPTIONS },
  { title: 'Routing', options: ROUTING_OPTIONS },
  { title: 'Requests', options: REQUEST_OPTIONS },
  { title: 'Resilience', options: RESILIENCE_OPTIONS },
  { title: 'Authentication', options: AUTH_OPTIONS },
  { title: 'Observability', options: OBSERVABILITY_OPTIONS },
  { title: 'Admission', options: ADMISSION_OPTIONS },
  { title: 'Prefill and decode', options: PD_OPTIONS },
  { title: 'Service discovery', options: DISCOVERY_OPTIONS },
  { title: 'RL control plane', options: RL_OPTIONS },
  { title: 'TLS', options: TLS_OPTIONS },
  { title: 'Tokenizers and tools', options: TOKENIZER_OPTIONS },
  { title: 'Storage', options: STORAGE_OPTIONS },
  { title: 'Mesh', options: MESH_OPTIONS },
] as const;

/** Every row with its exact type; {@link GatewayConfig} is computed from it. */
export type TableRow = (typeof CHAPTERS)[number]['options'][number];

export interface OptionChapter {
  readonly title: string;
  readonly options: readonly AnyOption[];
}

export const OPTION_CHAPTERS: readonly OptionChapter[] = CHAPTERS;

/** Every option once. */
export const OPTION_TABLE: readonly AnyOption[] = OPTION_CHAPTERS.flatMap(
  (chapter) => chapter.options,
);

/** The rows that make up the configuration. */
export const AVAILABLE_OPTIONS: readonly AvailableOption[] = OPTION_TABLE.filter(
  (row): row is AvailableOption => row.availability === 'available',
);

function indexBy(names: (row: AnyOption) => readonly string[]): ReadonlyMap<string, AnyOption> {
  const index = new Map<string, AnyOption>();
  for (const row of OPTION_TABLE) {
    for (const name of names(row)) {
      if (index.has(name)) throw new Error(`option table: ${name} is defined twice`);
      index.set(name, row);
    }
  }
  return index;
}

/** By flag or alias, without dashes. */
export const OPTIONS_BY_FLAG = indexBy((row) => [row.flag, ...row.aliases]);

/** By config-file key or alias. Options of the command line alone are not in it. */
export const OPTIONS_BY_FILE_KEY = indexBy((row) =>
  row.availability === 'command' ? [] : [row.flag, ...row.aliases].map(fileKey),
);
