/** Priority classes, the most urgent first; a class is its index here. */
export const PRIORITY_CLASSES = Object.freeze([
  'system',
  'interactive',
  'default',
  'bulk',
] as const);

/** Name of a class. */
export type PriorityClassName = (typeof PRIORITY_CLASSES)[number];

/** Rank of a class: 0 is the most urgent. */
export type PriorityRank = 0 | 1 | 2 | 3;

export const DEFAULT_RANK: PriorityRank = 2;

const RANKS: ReadonlyMap<string, PriorityRank> = new Map(
  PRIORITY_CLASSES.map((name, rank) => [name, rank as PriorityRank]),
);

/** @returns undefined for what names no class. */
export function rankOf(name: string): PriorityRank | undefined {
  // The usual spelling needs no copy.
  return RANKS.get(name) ?? RANKS.get(name.trim().toLowerCase());
}

/** What a class may do. */
export interface ClassSettings {
  /** Slots kept for the class. */
  readonly reservedFloor: number;
  /** Slots kept for the class besides, per slot of the capacity: 0 to 1. */
  readonly reservedPerSlot: number;
  readonly queueSize: number;
  readonly queueTimeoutSecs: number;
  /** Seconds after which a waiting request may use what is reserved for others. */
  readonly starvationThresholdSecs: number;
  /** Whether a request of the class may stop one of a lower class that has sent no byte. */
  readonly canPreempt: boolean;
}

/** Settings of every class, by rank. */
export type ClassTable = Readonly<Record<PriorityRank, ClassSettings>>;

const row = (
  [reservedFloor, reservedPerSlot]: readonly [number, number],
  [queueSize, queueTimeoutSecs, starvationThresholdSecs]: readonly [number, number, number],
  canPreempt: boolean,
): ClassSettings =>
  Object.freeze({
    reservedFloor,
    reservedPerSlot,
    queueSize,
    queueTimeoutSecs,
    starvationThresholdSecs,
    canPreempt,
  });

/** Classes that no file describes. Source: SMG contract 7.2. */
export const DEFAULT_CLASSES: ClassTable = Object.freeze({
  0: row([32, 0], [64, 30, 5], true),
  1: row([128, 0.25], [256, 30, 5], true),
  2: row([0, 0.1], [512, 60, 30], false),
  3: row([0, 0], [1024, 300, 120], false),
});

/** Slots reserved for a class at this capacity. */
export function reservedSlots(settings: ClassSettings, capacity: number): number {
  // 0.29 * 100 is a little less than 29.
  return settings.reservedFloor + Math.floor(settings.reservedPerSlot * capacity + 1e-9);
}
