import { type WorkerView } from '@smg/plugin-api';
import { HashRing, type Hashes } from '@smg/kv-index';
import { UNKNOWN_MODEL } from '@smg/protocol';

const NOBODY: readonly WorkerView[] = Object.freeze([]);

/** Members of a ring, whatever their state: a worker that is away for a while keeps its keys. */
interface ModelRing {
  readonly ring: HashRing;
  workers: number;
}

interface Member {
  worker: WorkerView;
  readonly modelId: string;
}

/** One ring per model, and one of everybody for requests that name none. */
export class ModelRings {
  private readonly models = new Map<string, ModelRing>();
  private readonly everybody: HashRing;
  /** Known workers, by URL. */
  private readonly members = new Map<string, Member>();

  private candidates: readonly WorkerView[] = NOBODY;

  constructor(private readonly hashes: Hashes) {
    this.everybody = new HashRing(hashes);
  }

  add(worker: WorkerView): void {
    const { url, modelId } = worker;
    const known = this.members.get(url);
    if (known?.modelId === modelId) {
      known.worker = worker;
      return;
    }
    if (known !== undefined) this.leave(url, known.modelId);
    this.members.set(url, { worker, modelId });
    this.everybody.add(url);
    let model = this.models.get(modelId);
    if (model === undefined) {
      model = { ring: new HashRing(this.hashes), workers: 0 };
      this.models.set(modelId, model);
    }
    model.ring.add(url);
    model.workers += 1;
  }

  remove({ url }: WorkerView): void {
    const known = this.members.get(url);
    if (known === undefined) return;
    this.members.delete(url);
    this.everybody.remove(url);
    this.leave(url, known.modelId);
  }

  /**
   * The candidate a key belongs to: clockwise from its place, the first that may serve.
   * @returns undefined when none of the candidates is on the ring.
   */
  ownerOf(model: string, key: string, candidates: readonly WorkerView[]): WorkerView | undefined {
    const ring = model === UNKNOWN_MODEL ? this.everybody : this.models.get(model)?.ring;
    this.candidates = candidates;
    const url = ring?.find(key, isCandidate, this);
    this.candidates = NOBODY;
    return url === undefined ? undefined : this.members.get(url)?.worker;
  }

  /** @internal Whether a URL of a ring is one of the candidates of this look-up. */
  isCandidate(url: string): boolean {
    const worker = this.members.get(url)?.worker;
    return worker !== undefined && this.candidates.includes(worker);
  }

  private leave(url: string, modelId: string): void {
    const model = this.models.get(modelId);
    if (model === undefined) return;
    model.ring.remove(url);
    if (--model.workers === 0) this.models.delete(modelId);
  }
}

function isCandidate(url: string, rings: ModelRings): boolean {
  return rings.isCandidate(url);
}
