import { type Lifecycle } from '@smg/plugin-api';

/** Serving, then draining; never back. */
export class ProcessLifecycle implements Lifecycle {
  private draining = false;
  private readonly listeners: (() => void)[] = [];

  get isDraining(): boolean {
    return this.draining;
  }

  /** A shutdown signal arrived. A second call changes nothing. */
  beginDraining(): void {
    if (this.draining) return;
    this.draining = true;
    for (const listener of this.listeners) listener();
  }

  /** Runs once, synchronously, when draining begins. */
  onDraining(listener: () => void): void {
    this.listeners.push(listener);
  }
}
