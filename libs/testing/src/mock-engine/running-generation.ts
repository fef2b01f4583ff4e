/** What the engine's state knows of a running answer. */
export interface RunningGeneration {
  readonly rid: string;
  readonly promptTokens: number;
  readonly dpRank: number | undefined;
  readonly tokens: readonly unknown[];
  readonly isAborted: boolean;
  /** It got in before a pause that lets running requests end. */
  readonly isAdmitted: boolean;
  abort(): void;
}
