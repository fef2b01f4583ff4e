import {
  type RoutingPolicyParameters,
  type WorkerLoadReport,
  type WorkerView,
} from '@smg/plugin-api';
import { anyOf } from './worker-list';

// Which of the workers that hold a prefix gets the request. Source: SMG contract, cache_aware.

/** Weighs holders by what waits before them, and draws. One call at a time: it keeps scratch arrays. */
export class HolderChoice {
  private readonly scores: number[] = [];
  private readonly backlogs: number[] = [];

  constructor(private readonly parameters: RoutingPolicyParameters) {}

  /**
   * @param holders candidates that hold the prefix; not empty.
   * @param length of the request, in characters or tokens.
   */
  choose(holders: readonly WorkerView[], length: number): WorkerView | undefined {
    if (holders.length === 1) return holders[0];
    const { overlapDecay, selectionTemperature, random } = this.parameters;
    const isScored = overlapDecay > 0 && this.score(holders, length);
    if (selectionTemperature > 0) {
      return isScored ? this.draw(holders) : anyOf(holders, random);
    }
    return this.best(holders, isScored);
  }

  /** Scores every holder by its backlog. @returns false while no engine reports one. */
  private score(holders: readonly WorkerView[], length: number): boolean {
    const { loads, overlapDecay, blockSize } = this.parameters;
    let least = Infinity;
    let hasAny = false;
    for (let i = 0; i < holders.length; i++) {
      const report = reportOf(holders[i], loads);
      if (report !== undefined) hasAny = true;
      const backlog = report?.waitingUncachedTokens ?? 0;
      this.backlogs[i] = backlog;
      if (backlog < least) least = backlog;
    }
    if (!hasAny) return false;
    const blocks = Math.max(1, Math.floor(length / blockSize));
    for (let i = 0; i < holders.length; i++) {
      const extra = ((this.backlogs[i] ?? 0) - least) / blockSize;
      this.scores[i] = 1 / (1 + (overlapDecay * extra) / blocks);
    }
    return true;
  }

  /** Highest score, then lowest load, then uniform. */
  private best(holders: readonly WorkerView[], isScored: boolean): WorkerView | undefined {
    let best = holders[0];
    let bestScore = isScored ? (this.scores[0] ?? 0) : 0;
    let ties = 1;
    for (let i = 1; i < holders.length; i++) {
      const worker = holders[i];
      if (worker === undefined || best === undefined) continue;
      const score = isScored ? (this.scores[i] ?? 0) : 0;
      if (score < bestScore || (score === bestScore && worker.load > best.load)) continue;
      if (score > bestScore || worker.load < best.load) {
        best = worker;
        bestScore = score;
        ties = 1;
      } else if (this.parameters.random() * ++ties < 1) {
        best = worker;
      }
    }
    return best;
  }

  /** Softmax over the scores, stretched to 0..1. */
  private draw(holders: readonly WorkerView[]): WorkerView | undefined {
    const { selectionTemperature, random } = this.parameters;
    let low = Infinity;
    let high = -Infinity;
    for (let i = 0; i < holders.length; i++) {
      const score = this.scores[i] ?? 0;
      if (score < low) low = score;
      if (score > high) high = score;
    }
    let total = 0;
    for (let i = 0; i < holders.length; i++) {
      const stretched = high > low ? ((this.scores[i] ?? 0) - low) / (high - low) : 1;
      const weight = Math.exp((stretched - 1) / selectionTemperature);
      this.scores[i] = weight;
      total += weight;
    }
    let left = random() * total;
    for (let i = 0; i < holders.length; i++) {
      left -= this.scores[i] ?? 0;
      if (left < 0) return holders[i];
    }
    return holders[holders.length - 1];
  }
}

function reportOf(
  worker: WorkerView | undefined,
  loads: RoutingPolicyParameters['loads'],
): WorkerLoadReport | undefined {
  return worker === undefined ? undefined : loads.reportOf(worker);
}
