import { type MicroSuite, repeat } from '../micro-suite';

/** Operations every reader knows the price of; the first one is what the others are compared to. */
export const baselineSuite: MicroSuite = {
  name: 'baseline',
  prepare() {
    const keys = Array.from({ length: 16 }, (_, i) => `x-header-${i}`);
    const map = new Map(keys.map((key, i) => [key, i]));
    return [
      repeat('Map.get of a string key', (turn) => map.get(keys[turn & 15]!) ?? 0),
      repeat('nothing', (turn) => turn),
    ];
  },
};
