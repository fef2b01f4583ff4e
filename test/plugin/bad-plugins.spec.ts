import { bootSelection } from './boot-selection';
import {
  AddingPlugin,
  DuplicatePlugin,
  EmptyPlugin,
  IncompatiblePlugin,
  NamelessPlugin,
  RequestScopedPlugin,
  SameLabelPlugin,
  ThrowingPlugin,
} from './fixtures/bad.plugin';
import { ClassPlugin } from './fixtures/good.plugin';

describe('the gateway refuses to start with', () => {
  it.each([
    [
      'two filters of one name',
      [ClassPlugin, DuplicatePlugin],
      "the name 'by-class' is taken twice, by module ClassPlugin and by module DuplicatePlugin",
    ],
    [
      'a filter that depends on a request-scoped provider',
      [RequestScopedPlugin],
      'smg:candidate-filter#RequestScopedFilter (module RequestScopedPlugin) is not a singleton',
    ],
    [
      'a filter without a name',
      [NamelessPlugin],
      'smg:candidate-filter#nameless (module NamelessPlugin) has no name',
    ],
    [
      'two factories of one label in one module, of which Nest would keep the last',
      [SameLabelPlugin],
      "the name 'same' is taken twice, by module SameLabelPlugin and by module SameLabelPlugin",
    ],
    [
      'a factory that makes nothing',
      [EmptyPlugin],
      'smg:candidate-filter#empty (module EmptyPlugin) did not produce an object',
    ],
    [
      'a module built for another API',
      [IncompatiblePlugin],
      'plug-in IncompatiblePlugin was built for plug-in API ^9.0.0',
    ],
  ])('%s', async (_, plugins, message) => {
    await expect(bootSelection(plugins)).rejects.toThrow(message);
  });

  it('a required filter missing', async () => {
    await expect(bootSelection([ClassPlugin], ['by-class', 'gpu-class'])).rejects.toThrow(
      "candidate filter 'gpu-class' is required but not registered; registered: by-class",
    );
  });
});

describe('a request fails closed when a filter', () => {
  it.each([
    ['throws', ThrowingPlugin, "candidate filter 'throwing' threw"],
    ['adds a worker', AddingPlugin, "candidate filter 'adding' returned workers it was not given"],
  ])('%s', async (_, plugin, message) => {
    const { select, app } = await bootSelection([plugin]);
    expect(() => select()).toThrow(
      expect.objectContaining({ code: 'filter_failed', message: expect.stringContaining(message) }),
    );
    await app.close();
  });
});
