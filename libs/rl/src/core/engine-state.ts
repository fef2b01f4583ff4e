import { type MemoryTag } from '@smg/plugin-api';
import { type WeightVersion } from './weight-version';

/** Whether an engine takes requests, as far as the gateway was told. */
export const CONTROL_STATES = ['active', 'paused', 'asleep'] as const;
export type ControlState = (typeof CONTROL_STATES)[number];

/** Who said which version an engine holds. */
export const VERSION_SOURCES = ['registration', 'passthrough', 'api'] as const;
export type VersionSource = (typeof VERSION_SOURCES)[number];

/** What the table knows of one engine; a live view, read it and let go. */
export interface EngineState {
  /** Engine address without a rank. */
  readonly baseUrl: string;
  readonly modelId: string;
  /** Undefined while nobody has said. */
  readonly version: WeightVersion | undefined;
  /** Undefined exactly when `version` is. */
  readonly source: VersionSource | undefined;
  /** `asleep` while memory is released, else `paused` if paused; calls that close count from the start. */
  readonly control: ControlState;
  /** Answered calls only. */
  readonly paused: boolean;
  /** Memory the engine has given up, in answered calls. */
  readonly released: readonly MemoryTag[];
}
