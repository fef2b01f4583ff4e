import { type FactoryProvider } from '@nestjs/common';
import { METRICS, WORKER_LOADS, type Metrics, type WorkerLoads } from '@smg/plugin-api';
import { randomBytes } from 'node:crypto';
import { PROXY_OPTIONS, type ProxyOptions } from '../proxy.options';
import { roomOf } from './core/bootstrap';
import { transferIdOf } from './core/kv-transfer';
import { type PairServices } from './pair.services';
import { PdMetrics } from './pd.metrics';
import { RankChooser } from './rank.chooser';

/** Token of the services of pairs; private to this lib. */
export const PAIR_SERVICES = 'smg:pair-services';

/** Undefined without pairs: their metrics are then not registered either. */
export const pairServices: FactoryProvider<PairServices | undefined> = {
  provide: PAIR_SERVICES,
  inject: [PROXY_OPTIONS, METRICS, { token: WORKER_LOADS, optional: true }],
  useFactory: (
    { pd }: ProxyOptions,
    metrics: Metrics,
    loads: WorkerLoads | undefined,
  ): PairServices | undefined =>
    pd === undefined
      ? undefined
      : {
          options: pd,
          metrics: new PdMetrics(metrics),
          ranks: new RankChooser(pd.minimumTokens ? loads : undefined),
          room: () => roomOf(randomBytes(8)),
          transferId: () => transferIdOf(Date.now(), randomBytes(10)),
        },
};
