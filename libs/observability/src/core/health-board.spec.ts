import { HealthBoard } from './health-board';
import { StallWatch } from './stall-watch';

describe('HealthBoard', () => {
  it('carries a verdict through shared memory', () => {
    const writer = new HealthBoard();
    const reader = new HealthBoard(writer.memory);
    writer.write({ reason: undefined, healthyWorkers: 3, totalWorkers: 5 });
    expect(reader.read()).toEqual({ reason: undefined, healthyWorkers: 3, totalWorkers: 5 });
    writer.write({ reason: 'geschlossen – später', healthyWorkers: 0, totalWorkers: 5 });
    expect(reader.read().reason).toBe('geschlossen – später');
  });

  it('cuts a long reason at a character', () => {
    const board = new HealthBoard();
    board.write({ reason: 'x' + 'é'.repeat(1000), healthyWorkers: 0, totalWorkers: 0 });
    expect(board.read().reason).toBe('x' + 'é'.repeat(255));
  });

  it('is not ready while a write never ends', () => {
    const board = new HealthBoard();
    board.write({ reason: undefined, healthyWorkers: 1, totalWorkers: 1 });
    Atomics.add(new Int32Array(board.memory, 0, 1), 0, 1);
    expect(board.read().reason).toBeDefined();
  });
});

describe('StallWatch', () => {
  it('speaks up when no beat came for longer than the limit, and recovers', () => {
    const watch = new StallWatch(0, 0, 1000);
    expect(watch.isStalled(0, 1000)).toBe(false);
    expect(watch.isStalled(0, 1001)).toBe(true);
    expect(watch.isStalled(1, 5000)).toBe(false);
    expect(watch.isStalled(1, 6001)).toBe(true);
  });
});
