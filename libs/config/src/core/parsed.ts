/** Outcome of reading one value. Problems are phrased to follow `--flag: `. */
export type Parsed<V> =
  | {
      readonly ok: true;
      readonly value: V;
      /** The value was adjusted; says how, as a warning. */
      readonly note?: string;
    }
  | { readonly ok: false; readonly problem: string };

export function good<V>(value: V, note?: string): Parsed<V> {
  return note === undefined ? { ok: true, value } : { ok: true, value, note };
}

export function bad(problem: string): { readonly ok: false; readonly problem: string } {
  return { ok: false, problem };
}
