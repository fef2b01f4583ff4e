import { type LatencySummary } from './histogram';

/** What the bench asks its helper processes. */

export interface LeashStart {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly stdoutPath: string;
  readonly stderrPath: string;
}

export interface LeashStarted {
  /** Leader of the process group. */
  readonly pid: number;
  readonly spawnedAtUs: number;
}

/** Pace of the backend's streams. */
export interface BackendPace {
  /** Events per second and stream; 0: one event, then silence. */
  readonly eventsPerSecond: number;
}

/** One target of the load generator. */
export interface Target {
  readonly port: number;
  readonly apiKey: string;
  /** Processes whose CPU time is read at both ends of the window. */
  readonly pids: readonly number[];
}

export interface ClosedLoopRun {
  readonly target: Target;
  readonly connections: number;
  readonly warmupMs: number;
  readonly windowMs: number;
  /** True: no prompt is like another of the run, see `renewPrompt`. */
  readonly freshPrompts?: boolean;
}

export interface StreamsRun {
  readonly target: Target;
  readonly streams: number;
  readonly warmupMs: number;
  readonly windowMs: number;
}

/** What one window saw. */
export interface WindowResult {
  /** Answers (or events) inside the window. */
  readonly count: number;
  readonly seconds: number;
  /** CPU of the target's processes per answer or event, µs; NaN when it cannot be read. */
  readonly cpuMicrosEach: number;
  readonly latency: LatencySummary;
  /** Answers by status, window and warm-up. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Transport errors and broken answers, with their first few reasons. */
  readonly errors: number;
  readonly reasons: readonly string[];
}

export interface HoldRun {
  readonly target: Target;
  readonly streams: number;
}

export interface HoldResult {
  readonly open: number;
  readonly reasons: readonly string[];
}
