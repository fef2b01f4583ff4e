import { linesOf, readExpositionLine, type LabelPair, type Sample } from './exposition-text';

/** Families of one source. */
interface Family {
  readonly name: string;
  type: string;
  help: string | undefined;
  readonly samples: Sample[];
}

interface MergedFamily {
  readonly name: string;
  type: string;
  help: string | undefined;
  readonly parts: { readonly source: string; readonly samples: readonly Sample[] }[];
}

const UNTYPED = 'untyped';
const TYPES: ReadonlySet<string> = new Set(['counter', 'gauge', 'histogram', 'summary']);
/** Endings of the series a family of a type is made of, besides its own name. */
const SERIES: Readonly<Record<string, readonly string[]>> = {
  histogram: ['_bucket', '_sum', '_count'],
  summary: ['_sum', '_count'],
};
/** Labels that only some series of a family have by nature: never padded. */
const OWN_LABEL: Readonly<Record<string, string>> = { histogram: 'le', summary: 'quantile' };
/** Lines read, or series written, between two pauses. */
const STRIDE = 500;

/**
 * Merges the metrics of many engines into one page. Law: SMG contract 2.5: families by name, `:`
 * becomes `_`, every series gains a source label, labels are sorted and those a series lacks are
 * empty. A text that is no exposition is left out as a whole. Both steps pause every now and then,
 * so that a caller can let others run.
 */
export class ExpositionMerger {
  readonly #families = new Map<string, MergedFamily>();

  constructor(private readonly sourceLabel: string) {}

  /** @returns whether the text could be read; otherwise nothing of it is kept. */
  *add(source: string, text: string): Generator<void, boolean> {
    const families = new Map<string, Family>();
    const owners = new Map<string, Family>();
    let count = 0;
    for (const line of linesOf(text)) {
      if (++count % STRIDE === 0) yield;
      const read = readExpositionLine(line);
      if (read === undefined) return false;
      if (read.kind === 'comment') continue;
      if (read.kind === 'sample') {
        const { sample } = read;
        (owners.get(sample.name) ?? familyOf(families, sample.name)).samples.push(sample);
        continue;
      }
      const family = familyOf(families, read.name);
      if (read.kind === 'help') family.help ??= read.text;
      else adopt(family, read.text, owners);
    }
    for (const family of families.values()) this.#merge(source, family);
    return true;
  }

  *render(): Generator<string, void> {
    for (const family of this.#families.values()) yield* renderFamily(family, this.sourceLabel);
  }

  /** Two spellings of one name, and a type that differs from the first source's, are left out. */
  #merge(source: string, { name: given, type, help, samples }: Family): void {
    if (samples.length === 0) return;
    const name = clean(given);
    const known = this.#families.get(name);
    if (known === undefined) {
      this.#families.set(name, { name, type, help, parts: [{ source, samples }] });
      return;
    }
    if (known.type !== type || known.parts.at(-1)?.source === source) return;
    known.help ??= help;
    known.parts.push({ source, samples });
  }
}

const clean = (name: string): string => name.replaceAll(':', '_');

function familyOf(families: Map<string, Family>, name: string): Family {
  let family = families.get(name);
  if (family === undefined) {
    family = { name, type: UNTYPED, help: undefined, samples: [] };
    families.set(name, family);
  }
  return family;
}

function adopt(family: Family, type: string, owners: Map<string, Family>): void {
  if (family.type !== UNTYPED || !TYPES.has(type)) return;
  family.type = type;
  for (const ending of SERIES[type] ?? []) owners.set(family.name + ending, family);
}

function* renderFamily(family: MergedFamily, sourceLabel: string): Generator<string, void> {
  const { name, type, help, parts } = family;
  let text = help === undefined ? '' : `# HELP ${name} ${help}\n`;
  text += `# TYPE ${name} ${type}\n`;
  const own = OWN_LABEL[type];
  const names = labelNames(family, sourceLabel);
  const seen = new Set<string>();
  let count = 0;
  for (const { source, samples } of parts) {
    for (const sample of samples) {
      const labels: LabelPair[] = [
        ...sample.labels.filter(([it]) => it !== sourceLabel),
        [sourceLabel, source],
      ];
      const series = `${clean(sample.name)}{${renderLabels(names, labels, own)}}`;
      if (seen.has(series)) continue;
      seen.add(series);
      text += `${series} ${renderValue(sample.value)}`;
      text += sample.timestamp === undefined ? '\n' : ` ${sample.timestamp}\n`;
      if (++count % STRIDE !== 0) continue;
      yield text;
      text = '';
    }
  }
  yield text;
}

function labelNames({ parts }: MergedFamily, sourceLabel: string): readonly string[] {
  const names = new Set<string>([sourceLabel]);
  for (const { samples } of parts) {
    for (const { labels } of samples) for (const [name] of labels) names.add(name);
  }
  return [...names].sort();
}

function renderLabels(
  names: readonly string[],
  labels: readonly LabelPair[],
  own: string | undefined,
): string {
  let text = '';
  for (const name of names) {
    const value = labels.find(([it]) => it === name)?.[1];
    if (value === undefined && name === own) continue;
    if (text !== '') text += ',';
    text += `${name}="${escaped(value ?? '')}"`;
  }
  return text;
}

const PLAIN = /^[^\\"\n]*$/;

function escaped(value: string): string {
  if (PLAIN.test(value)) return value;
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

/** Whole numbers come out without decimals. */
function renderValue(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  if (value === Number.NEGATIVE_INFINITY) return '-Inf';
  return String(value);
}
