import { bootSelection } from './boot-selection';
import {
  AsyncFactoryPlugin,
  ClassFilter,
  ClassPlugin,
  FactoryPlugin,
  QuotaPlugin,
  TwoFiltersPlugin,
} from './fixtures/good.plugin';

describe('a plug-in may register', () => {
  it.each([
    ['a class', ClassPlugin, ['by-class']],
    ['a factory', FactoryPlugin, ['by-factory']],
    ['an asynchronous factory', AsyncFactoryPlugin, ['by-async-factory']],
    ['two filters in one module', TwoFiltersPlugin, ['two-of-two', 'one-of-two']],
    ['a filter with dependencies', QuotaPlugin, ['quota']],
  ])('%s', async (_, plugin, expected) => {
    const { filters, select, app } = await bootSelection([plugin], expected);
    expect(filters).toEqual(expected);
    expect(select()).toMatchObject({ kind: 'selected' });
    await app.close();
  });

  it('all of them at once, run in one order whatever the order of the modules', async () => {
    const plugins = [QuotaPlugin, TwoFiltersPlugin, AsyncFactoryPlugin, FactoryPlugin, ClassPlugin];
    const expected = [
      'by-class',
      'by-factory',
      'by-async-factory',
      'two-of-two',
      'one-of-two',
      'quota',
    ];
    for (const order of [plugins, [...plugins].reverse()]) {
      const { filters, app } = await bootSelection(order);
      expect(filters).toEqual(expected);
      await app.close();
    }
  });
});

describe('a registered filter', () => {
  it('is one instance, injectable by its class', async () => {
    const { app } = await bootSelection([ClassPlugin]);
    expect(app.get(ClassFilter, { strict: false })).toBeInstanceOf(ClassFilter);
    await app.close();
  });

  it('gets its own services and those of the gateway', async () => {
    const { select, workers, app } = await bootSelection([QuotaPlugin]);
    for (let i = 0; i < 3; i++) {
      expect(select({ 'x-acme-quota': '1' })).toEqual({ kind: 'selected', worker: workers[0] });
    }
    await app.close();
  });
});
