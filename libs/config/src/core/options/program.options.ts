import { append, csv, flag, one, optional } from '../kinds/combine';
import { filled, text } from '../kinds/texts';
import { commandOption, option } from '../option';
import { bad, good } from '../parsed';
import { show } from '../show';

const filterName = text({
  label: 'name',
  rule: 'names of filters, such as label',
  check: (value) =>
    /^[A-Za-z0-9][A-Za-z0-9._:-]*$/.test(value) ? good(value) : bad(`${show(value)} is not a name`),
});

/** Plug-ins, and how the program itself is started. */
export const PROGRAM_OPTIONS = [
  option('plugins.modules', 'plugin', append(filled('module')), {
    default: [],
    ours: true,
    doc: 'Plug-in to load: a package name or the path of a module.',
  }),
  option('plugins.requiredFilters', 'require-filters', csv(filterName), {
    default: [],
    ours: true,
    doc: 'Candidate filters that must be present, or the start is refused.',
  }),
  commandOption('config', optional(one(filled('path'))), {
    default: undefined,
    ours: true,
    doc: 'JSON file of options; flags and environment win over it.',
  }),
  commandOption('check-config', flag, {
    default: false,
    ours: true,
    doc: 'Validate the configuration, say so and exit.',
  }),
  commandOption('print-config', flag, {
    default: false,
    ours: true,
    doc: 'Print the effective configuration as JSON, secrets masked, and exit.',
  }),
] as const;
