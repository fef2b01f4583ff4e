import { EventEmitter } from 'node:events';
import { watchCaller } from './caller.presence';
import { type RlReply } from './rl.http';

function waiting(state: { writableFinished?: boolean; destroyed?: boolean } = {}) {
  const raw = Object.assign(
    new EventEmitter(),
    { writableFinished: false, destroyed: false },
    state,
  );
  return { raw, reply: { raw } as unknown as RlReply };
}

describe('watchCaller', () => {
  it('a connection that closes before the answer is a caller who left', () => {
    const { raw, reply } = waiting();
    const caller = watchCaller(reply);
    expect(caller.left.aborted).toBe(false);
    raw.emit('close');
    expect(caller.left.aborted).toBe(true);
  });

  it('one who left before anybody watched has left', () => {
    expect(watchCaller(waiting({ destroyed: true }).reply).left.aborted).toBe(true);
  });

  it('a close after the answer, or after the release, is none', () => {
    const answered = waiting({ writableFinished: true });
    const one = watchCaller(answered.reply);
    answered.raw.emit('close');
    const released = waiting();
    const other = watchCaller(released.reply);
    other.release();
    released.raw.emit('close');
    expect([one.left.aborted, other.left.aborted]).toEqual([false, false]);
    expect(released.raw.listenerCount('close')).toBe(0);
  });

  it('many calls may listen without a warning', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => {
      warnings.push(warning);
    };
    process.on('warning', onWarning);
    const { left } = watchCaller(waiting().reply);
    for (let call = 0; call < 100; call++) left.addEventListener('abort', () => undefined);
    await new Promise(setImmediate);
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
  });
});
