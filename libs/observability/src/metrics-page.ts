import { setImmediate as nextTurn } from 'node:timers/promises';
import { register } from 'prom-client';
import { type MetricStore } from './core/metric-store';

/** Bytes of text made before the loop gets its turn: well under a millisecond of work. */
const SLICE = 32 * 1024;

/**
 * One scrape: prom-client's registry first (Node's process metrics, and whatever a plug-in put
 * there), then our own cells, in slices with a turn of the event loop between them.
 */
export async function* renderMetricsPage(store: MetricStore): AsyncGenerator<Buffer> {
  yield Buffer.from(`${await register.metrics()}\n`);
  let slice = '';
  for (const piece of store.render()) {
    slice += piece;
    if (slice.length < SLICE) continue;
    yield Buffer.from(slice);
    slice = '';
    await nextTurn();
  }
  if (slice !== '') yield Buffer.from(slice);
}
