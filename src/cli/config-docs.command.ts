import { writeFileSync } from 'node:fs';
import { renderConfigurationDocs } from '@smg/config';

const PAGE = 'docs/reference/configuration.md';

/** `smg config-docs`: writes the reference page of the options; run at the root of the repository. */
export function writeConfigDocs(): number {
  writeFileSync(PAGE, renderConfigurationDocs());
  console.log(`wrote ${PAGE}`);
  return 0;
}
