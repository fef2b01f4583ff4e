/** A terminal, or something that is none. */
export interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
  on?(event: 'error', listener: (error: Error) => void): unknown;
}

const WIDTH = 24;

/** How far a refit is: a bar that is drawn over itself on a terminal, else a line per step. */
export class ProgressBar {
  private done = 0;
  private isDrawn = false;

  constructor(
    private readonly screen: Screen,
    private readonly total: number,
  ) {}

  /** @param text what was just done. */
  step(text: string): void {
    this.done = Math.min(this.done + 1, this.total);
    this.say(text);
  }

  /** Says something that is no step. */
  say(text: string): void {
    if (this.screen.isTTY !== true) {
      this.screen.write(`${text}\n`);
      return;
    }
    const full = this.total === 0 ? WIDTH : Math.floor((WIDTH * this.done) / this.total);
    const bar = `[${'#'.repeat(full)}${'-'.repeat(WIDTH - full)}] ${this.done}/${this.total} ${text}`;
    this.screen.write(`\r\u001b[K${bar.slice(0, Math.max((this.screen.columns ?? 80) - 1, 10))}`);
    this.isDrawn = true;
  }

  /** Leaves a clean line. */
  end(): void {
    if (this.isDrawn) this.screen.write('\r\u001b[K');
    this.isDrawn = false;
  }
}
