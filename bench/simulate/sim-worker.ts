import { type WorkerLoadReport, type WorkerView } from '@smg/plugin-api';
import { type WorkerType } from '@smg/protocol';

/** The one model of the fleet. */
export const MODEL = 'simulated';

/** A worker as the registry would show it, with what the gateway counts of its requests. */
export class SimWorker implements WorkerView {
  readonly id: string;
  readonly url: string;
  readonly baseUrl: string;
  readonly modelId = MODEL;
  readonly connectionMode = 'http' as const;
  readonly runtime = 'sglang';
  readonly labels: ReadonlyMap<string, string> = new Map();
  readonly priority = 50;
  readonly cost = 1;
  readonly dpRank = undefined;
  readonly dpSize = undefined;
  readonly status = 'ready' as const;
  load = 0;
  isAvailable = true;
  /** What the engine last said of itself. */
  report: WorkerLoadReport | undefined = undefined;
  private readonly keys = new Map<string, number>();

  constructor(
    readonly place: number,
    readonly workerType: WorkerType,
  ) {
    this.id = `00000000-0000-7000-8000-${place.toString(16).padStart(12, '0')}`;
    this.url = `http://10.0.${place >> 8}.${place & 255}:30000`;
    this.baseUrl = this.url;
  }

  get isReady(): boolean {
    return this.isAvailable;
  }

  get keysInFlight(): number {
    return this.keys.size;
  }

  requestsOf(key: string): number {
    return this.keys.get(key) ?? 0;
  }

  dispatched(key: string | undefined): void {
    this.load += 1;
    if (key !== undefined) this.keys.set(key, this.requestsOf(key) + 1);
  }

  finished(key: string | undefined): void {
    this.load -= 1;
    if (key === undefined) return;
    const left = this.requestsOf(key) - 1;
    if (left > 0) this.keys.set(key, left);
    else this.keys.delete(key);
  }
}
