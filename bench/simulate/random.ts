/** A seeded source of randomness: the same seed gives the same run on every machine. */
export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = mix(seed + 1);
  }

  /** Uniform in [0, 1), in steps of 2^-32. */
  next(): number {
    this.state = (this.state + 0x9e37_79b9) | 0;
    return mix(this.state) / 2 ** 32;
  }

  /** Uniform among 0 … `count` - 1. */
  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  /** Uniform integer from `least` to `most`, both included. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  /** Exponential with the given mean: gaps of a Poisson process. */
  exponential(mean: number): number {
    return -mean * Math.log(1 - this.next());
  }

  /** Log-normal around `median`; `sigma` is the deviation of the logarithm. */
  logNormal(median: number, sigma: number): number {
    const radius = Math.sqrt(-2 * Math.log(1 - this.next()));
    return median * Math.exp(sigma * radius * Math.cos(2 * Math.PI * this.next()));
  }
}

/** Ranks 0, 1, 2, … with probability proportional to 1, 1/2, 1/3, … each to the power `exponent`. */
export class Zipf {
  private readonly cumulative: Float64Array;

  constructor(count: number, exponent: number) {
    this.cumulative = new Float64Array(count);
    let sum = 0;
    for (let rank = 0; rank < count; rank += 1) {
      sum += (rank + 1) ** -exponent;
      this.cumulative[rank] = sum;
    }
  }

  /** Expected value of `rank + 1`. */
  get mean(): number {
    const total = this.cumulative.at(-1) ?? 0;
    let mean = 0;
    let before = 0;
    this.cumulative.forEach((sum, rank) => {
      mean += ((sum - before) / total) * (rank + 1);
      before = sum;
    });
    return mean;
  }

  draw(random: Random): number {
    const wanted = random.next() * (this.cumulative.at(-1) ?? 0);
    let low = 0;
    let high = this.cumulative.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.cumulative[middle]! > wanted) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

/** Spreads the bits of a 32-bit integer; unsigned. */
export function mix(value: number): number {
  let bits = value | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x21f0_aaad);
  bits = Math.imul(bits ^ (bits >>> 15), 0x735a_2d97);
  return (bits ^ (bits >>> 15)) >>> 0;
}
