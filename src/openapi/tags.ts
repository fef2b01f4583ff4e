/** Groups of routes in the order they are shown, with what each is for. */
export const TAGS: readonly (readonly [name: string, description: string])[] = [
  [
    'RL control plane',
    'Engines in their own words, weight versions and states; with `--enable-rl`.',
  ],
  ['Workers', 'Add, change and remove engines while the gateway runs.'],
  ['Fleet', 'Orders to every engine at once.'],
  ['Inference', 'Requests of clients, relayed to an engine of the model.'],
  [
    'Responses and conversations',
    'Answers of `/v1/responses` and conversations that the gateway keeps.',
  ],
  ['Information', 'Models and engines; no key needed.'],
  ['Probes', 'Health of this gateway; no key needed.'],
  ['Documentation', 'This document and its page.'],
];
