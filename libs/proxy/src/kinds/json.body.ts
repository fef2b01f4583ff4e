import { setTopLevelFields } from '../core/json-splice';
import { setModelInside } from './core/nested-model';
import { type BodyChanges, type OutgoingBody, type SentBody } from './outgoing-body';

/** A JSON body: byte for byte the client's, but for what the gateway must write into it. */
export class JsonBody implements OutgoingBody {
  readonly unreadBytes = 0;

  /**
   * @param parent field that holds the model; undefined where it is at the top.
   * @param isRepeatable false for calls that must not be made twice.
   */
  constructor(
    private readonly bytes: Buffer,
    private readonly parent?: string,
    readonly isRepeatable = true,
  ) {}

  sent({ model, dpRank }: BodyChanges): SentBody {
    if (model === undefined && dpRank === undefined) return { body: this.bytes };
    if (this.parent !== undefined) {
      return {
        body: model === undefined ? this.bytes : setModelInside(this.bytes, this.parent, model),
      };
    }
    const fields = new Map<string, string | number>();
    if (model !== undefined) fields.set('model', model);
    if (dpRank !== undefined) fields.set('data_parallel_rank', dpRank);
    return { body: setTopLevelFields(this.bytes, fields) };
  }
}
