import { createGateway, loadConfig } from 'smg-gateway';
import { GpuClassPlugin } from './gpu-class.plugin';

/** A gateway of one's own: engine URLs from the command line, the filter built in. */
async function main(urls: readonly string[]): Promise<void> {
  const config = loadConfig({
    workers: { urls },
    // Without the filter this gateway must not start.
    plugins: { requiredFilters: ['gpu-class'] },
  });
  const gateway = await createGateway(config, { plugins: [GpuClassPlugin] });
  await gateway.listen();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void gateway.shutdown());
  }
}

main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
