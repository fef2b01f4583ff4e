import { MetricStore } from '@smg/observability';
import { type MicroSuite, repeat } from '../micro-suite';

/** What every request pays for being counted. */
export const metricsSuite: MicroSuite = {
  name: 'metric cells',
  prepare() {
    const store = new MetricStore();
    const counter = store.counter({ name: 'bench_total', help: 'Bench.', labels: ['route'] });
    const duration = store.histogram({ name: 'bench_seconds', help: 'Bench.', labels: ['route'] });
    const requests = counter.cell('chat');
    const seconds = duration.cell('chat');
    return [
      repeat('counter, cell kept', (turn) => {
        requests.inc();
        return turn;
      }),
      repeat('histogram, cell kept', (turn) => {
        seconds.observe(turn / 100);
        return turn;
      }),
      repeat('counter, cell looked up', (turn) => {
        counter.cell('chat').inc();
        return turn;
      }),
    ];
  },
};
