import { type PdMetrics } from './pd.metrics';
import { type PdOptions } from './pd.options';
import { type RankChooser } from './rank.chooser';

/** What requests to pairs share. */
export interface PairServices {
  readonly options: PdOptions;
  readonly metrics: PdMetrics;
  readonly ranks: RankChooser;
  /** A bootstrap room: digits of a number below 2^63. */
  readonly room: () => string;
  /** An id of one KV transfer. */
  readonly transferId: () => string;
}
