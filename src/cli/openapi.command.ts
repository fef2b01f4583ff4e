import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { loadConfig } from '@smg/config';
import { GatewayLog } from '@smg/observability';
import { createGateway } from '../create-gateway';
import { buildDocument } from '../openapi/build-document';

const FILE = 'docs/openapi.json';

/**
 * `smg openapi`: writes the document with every route there can be; run at the root of the repository.
 * @param argv `--check` compares instead of writing; 1 when they differ.
 */
export async function writeOpenApi(argv: readonly string[]): Promise<number> {
  const isCheck = argv[0] === '--check';
  if (argv.length > (isCheck ? 1 : 0)) {
    console.error('error: usage: smg openapi [--check]');
    return 2;
  }
  if (!existsSync(FILE)) {
    console.error(`error: there is no ${FILE} here; run openapi at the root of the repository`);
    return 2;
  }
  const text = await render();
  if (!isCheck) {
    writeFileSync(FILE, text);
    console.log(`wrote ${FILE}`);
    return 0;
  }
  if (readFileSync(FILE, 'utf8') === text) return 0;
  console.error(`error: ${FILE} is not what the routes say; npm run openapi writes it`);
  return 1;
}

/** Builds a gateway that never listens on its main port and asks it. */
async function render(): Promise<string> {
  const config = loadConfig(
    {
      rl: { enabled: true, routerVerbs: true },
      observability: { prometheusHost: '127.0.0.1', prometheusPort: 0 },
    },
    { ephemeralPorts: true },
  );
  const gateway = await createGateway(config, { log: new GatewayLog({ level: 'error' }) });
  try {
    return `${JSON.stringify(buildDocument(gateway.app), null, 2)}\n`;
  } finally {
    await gateway.close();
  }
}
