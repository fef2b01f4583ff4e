import { setTopLevelFields, topLevelSpans } from '../../core/json-splice';

const OPEN_BRACE = 0x7b;

/** Sets `model` inside the object at `parent`, in every occurrence of it; other bytes stay. */
export function setModelInside(body: Buffer, parent: string, model: string): Buffer {
  const fields = new Map([['model', model]]);
  const parts: Buffer[] = [];
  let at = 0;
  for (const { from, to } of topLevelSpans(body, parent)) {
    if (body[from] !== OPEN_BRACE) continue;
    parts.push(body.subarray(at, from), setTopLevelFields(body.subarray(from, to), fields));
    at = to;
  }
  parts.push(body.subarray(at));
  return Buffer.concat(parts);
}
