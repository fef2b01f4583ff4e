/** The two ways a data-plane request can take through the process. */
export interface Lane {
  readonly name: string;
  readonly hotLane: boolean;
}

const LANES: readonly Lane[] = [
  { name: 'hot lane', hotLane: true },
  { name: "Nest's router", hotLane: false },
];

/** One suite per lane: a promise of the data plane holds on both. */
export function describeLanes(title: string, suite: (lane: Lane) => void): void {
  describe.each(LANES)(`${title}, $name`, suite);
}
