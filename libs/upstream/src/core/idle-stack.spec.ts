import fc from 'fast-check';
import { IdleStack, type StackSlot } from './idle-stack';

interface Item extends StackSlot {
  readonly id: number;
}

describe('IdleStack', () => {
  it('behaves like a set whatever the order of pushes, pops and removals', () => {
    const action = fc.tuple(fc.constantFrom('push', 'pop', 'remove'), fc.nat(9));
    fc.assert(
      fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
        const items: Item[] = Array.from({ length: 10 }, (_, id) => ({ id, slot: -1 }));
        const stack = new IdleStack<Item>();
        const model = new Set<number>();
        for (const [kind, id] of actions) {
          const item = items[id]!;
          if (kind === 'push') {
            stack.push(item);
            model.add(id);
          } else if (kind === 'pop') {
            const popped = stack.pop();
            expect(popped === undefined).toBe(model.size === 0);
            if (popped) expect(model.delete(popped.id)).toBe(true);
          } else {
            expect(stack.remove(item)).toBe(model.delete(id));
          }
          expect(stack.size).toBe(model.size);
          for (const each of items) expect(each.slot !== -1).toBe(model.has(each.id));
        }
      }),
    );
  });

  it('hands out the most recent first', () => {
    const stack = new IdleStack<Item>();
    stack.push({ id: 1, slot: -1 });
    stack.push({ id: 2, slot: -1 });
    expect(stack.pop()?.id).toBe(2);
  });
});
