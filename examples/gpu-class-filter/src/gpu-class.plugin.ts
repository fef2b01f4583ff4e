import { Injectable, Module } from '@nestjs/common';
import {
  CANDIDATE_FILTER,
  type CandidateFilter,
  type SelectionContext,
  type WorkerView,
} from 'smg-gateway/plugin';

/** Keeps a request on the GPU class it asks for. */
@Injectable()
export class GpuClassFilter implements CandidateFilter {
  readonly name = 'gpu-class';
  readonly order = 300;

  filter(candidates: readonly WorkerView[], context: SelectionContext): readonly WorkerView[] {
    const wanted = context.header('x-acme-gpu-class');
    if (wanted === undefined) return candidates;
    const kept = candidates.filter((worker) => worker.labels.get('gpu_class') === wanted);
    return kept.length === candidates.length ? candidates : kept;
  }
}

@Module({ providers: [...CANDIDATE_FILTER.provide(GpuClassFilter)] })
export class GpuClassPlugin {
  static readonly smgPluginApi = '^1.0.0';
}
