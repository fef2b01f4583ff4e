/** Children in one Map; a Map copies itself as it grows, 20 ns an entry. */
const MAX_MAP = 1_024;
/** A table that outgrows its map becomes 2^6 tables, each of which may do the same. */
const FAN_OUT_BITS = 6;
const FAN_OUT = 2 ** FAN_OUT_BITS;
/** Levels that the 32 mixed bits of a key can tell apart. */
const MAX_LEVEL = 5;

/**
 * Children by key, as many as there may be: under the root of a tree, one per distinct prompt. A
 * single Map would stop the process for 10 ms and more each time it doubles.
 */
export class ChildTable<Child> {
  private map: Map<number, Child> | undefined = new Map();
  private parts: ChildTable<Child>[] | undefined;

  constructor(private readonly level = 0) {}

  get(key: number): Child | undefined {
    return this.map === undefined ? this.partOf(key)?.get(key) : this.map.get(key);
  }

  set(key: number, child: Child): void {
    if (this.map === undefined) {
      this.partOf(key)?.set(key, child);
      return;
    }
    this.map.set(key, child);
    if (this.map.size > MAX_MAP && this.level < MAX_LEVEL) this.fanOut(this.map);
  }

  delete(key: number): void {
    if (this.map === undefined) this.partOf(key)?.delete(key);
    else this.map.delete(key);
  }

  private fanOut(map: Map<number, Child>): void {
    this.parts = Array.from({ length: FAN_OUT }, () => new ChildTable<Child>(this.level + 1));
    this.map = undefined;
    for (const [key, child] of map) this.set(key, child);
  }

  private partOf(key: number): ChildTable<Child> | undefined {
    const mixed = Math.imul((key / 4_294_967_296) ^ key, 0x9e37_79b1);
    return this.parts?.[(mixed >>> (32 - FAN_OUT_BITS * (this.level + 1))) & (FAN_OUT - 1)];
  }
}
