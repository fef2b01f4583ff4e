import { Logger } from '@nestjs/common';
import { Reload } from './reload';

describe('reload', () => {
  it('goes on after a part that fails, and names it', async () => {
    const errors = jest.spyOn(Logger.prototype, 'error').mockImplementation();
    const done: string[] = [];
    const reload = new Reload([
      {
        name: 'tls',
        reload: () => {
          throw new Error('no such file');
        },
      },
      {
        name: 'keys',
        reload: () => {
          done.push('keys');
        },
      },
    ]);
    await reload.run();
    expect(done).toEqual(['keys']);
    expect(errors).toHaveBeenCalledWith('tls: kept as it was: no such file');
    errors.mockRestore();
  });

  it('runs one at a time', async () => {
    let running = 0;
    let most = 0;
    const reload = new Reload([
      {
        name: 'slow',
        reload: async () => {
          running += 1;
          most = Math.max(most, running);
          await Promise.resolve();
          running -= 1;
        },
      },
    ]);
    await Promise.all([reload.run(), reload.run(), reload.run()]);
    expect(most).toBe(1);
  });

  it('a hundred at once are two: the one under way, and one for what came later', async () => {
    let reloads = 0;
    let state = 'old';
    let taken = '';
    const reload = new Reload([
      {
        name: 'keys',
        reload: async () => {
          reloads += 1;
          const read = state;
          await new Promise(setImmediate);
          taken = read;
        },
      },
    ]);
    const first = reload.run();
    await Promise.resolve();
    state = 'new';
    await Promise.all([first, ...Array.from({ length: 100 }, () => reload.run())]);
    expect([reloads, taken]).toEqual([2, 'new']);
  });

  it('a part that does not come to an end holds no other up', async () => {
    let reloads = 0;
    const reload = new Reload([
      { name: 'stuck', reload: () => new Promise<void>(() => undefined) },
      {
        name: 'keys',
        reload: () => {
          reloads += 1;
        },
      },
    ]);
    for (let run = 0; run < 2; run += 1) {
      void reload.run();
      await new Promise(setImmediate);
    }
    expect(reloads).toBe(2);
  });
});
