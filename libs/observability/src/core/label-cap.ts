/** Distinct values of a `model` label per metric; the rest become `other`. */
export const MODEL_LABEL_LIMIT = 1024;

/** Stands in for values beyond the cap. */
export const OTHER_LABEL = 'other';

/** Bounds the values of one label, so that no caller can grow the number of series without end. */
export class LabelCap {
  private readonly seen = new Set<string>();

  constructor(private readonly limit: number = MODEL_LABEL_LIMIT) {}

  /** @returns `value` while there is room or it is known, else `other`. */
  admit(value: string): string {
    if (this.seen.has(value)) return value;
    if (this.seen.size >= this.limit) return OTHER_LABEL;
    this.seen.add(value);
    return value;
  }

  /** Makes room again. */
  release(value: string): void {
    this.seen.delete(value);
  }
}
