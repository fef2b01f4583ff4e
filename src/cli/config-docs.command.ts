import { existsSync, writeFileSync } from 'node:fs';
import { renderConfigurationDocs } from '@smg/config';

const PAGE = 'docs/reference/configuration.md';

/** `smg config-docs`: writes the reference page of the options; run at the root of the repository. */
export function writeConfigDocs(): number {
  if (!existsSync(PAGE)) {
    console.error(`error: there is no ${PAGE} here; run config-docs at the root of the repository`);
    return 2;
  }
  writeFileSync(PAGE, renderConfigurationDocs());
  console.log(`wrote ${PAGE}`);
  return 0;
}
