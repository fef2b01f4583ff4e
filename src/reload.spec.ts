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
});
