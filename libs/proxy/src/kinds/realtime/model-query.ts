/** The model in a query, or why there is none. */
export type ModelName =
  { readonly ok: true; readonly model: string } | { readonly ok: false; readonly problem: string };

const NAME = 'model';

/** @param query `?…` or empty. */
export function modelInQuery(query: string): ModelName {
  const models = new URLSearchParams(query).getAll(NAME);
  const [model] = models;
  if (model === undefined || model === '') {
    return { ok: false, problem: 'missing query parameter `model`' };
  }
  // Readers differ about which of several counts.
  if (models.length > 1) return { ok: false, problem: 'more than one query parameter `model`' };
  return { ok: true, model };
}

/** The query with another model; everything else stays as it was written. */
export function withModel(query: string, model: string): string {
  const parts = query.slice(1).split('&');
  const changed = parts.map((part) =>
    new URLSearchParams(part).has(NAME) ? `${NAME}=${encodeURIComponent(model)}` : part,
  );
  return `?${changed.join('&')}`;
}
