import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants';
import { DiscoveryService } from '@nestjs/core';
import { RequestMethod } from '@nestjs/common';
import { PLANE_METADATA } from '@smg/plugin-api';
import { startGateway, type RunningGateway } from '../support/gateway';
import { textOf } from './support/pages';

const PAGE = 'docs/reference/routes.md';

/** Routes of the page by plane: `data POST /generate`. */
function documented(): string[] {
  const page = textOf(PAGE);
  const [, inference = '', information = '', probes = '', control = '', ...more] =
    page.split(/^## /m);
  const [rl = '', history = '', realtime = ''] = more;
  const rows = (section: string): string[] =>
    section.split('\n').filter((line) => line.startsWith('| `'));
  const first = (row: string): string => row.split('|')[1] ?? '';
  const routes = (row: string, plane: string): string[] => {
    const words = [...first(row).matchAll(/[A-Z]{3,}|\/[\w.{}/-]+/g)].map(([word]) => word);
    const path = (words.at(-1) ?? '').replaceAll(/\{(\w+)\}/g, ':$1');
    return words.slice(0, -1).map((method) => `${plane} ${method} ${path}`);
  };
  return [
    ...rows(inference).flatMap((row) => routes(`| POST ${first(row)}`, 'data')),
    ...[...rows(information), ...rows(probes)].flatMap((row) => routes(row, 'public')),
    ...[...rows(control), ...rows(rl)].flatMap((row) => routes(row, 'control')),
    ...[...rows(history), ...rows(realtime)].flatMap((row) => routes(row, 'data')),
  ].sort();
}

/** Routes of every controller of the process. */
function declared({ gateway }: RunningGateway): string[] {
  const controllers = gateway.app.get(DiscoveryService, { strict: false }).getControllers();
  return controllers
    .flatMap(({ metatype }) => {
      if (typeof metatype !== 'function') return [];
      const prefix = String(Reflect.getMetadata(PATH_METADATA, metatype) ?? '');
      const methods = metatype.prototype as Record<string, object>;
      return Object.getOwnPropertyNames(methods).flatMap((name) => {
        // The class itself carries the prefix under the same key.
        const method = name === 'constructor' ? {} : (methods[name] ?? {});
        const path: unknown = Reflect.getMetadata(PATH_METADATA, method);
        if (typeof path !== 'string') return [];
        const plane: unknown =
          Reflect.getMetadata(PLANE_METADATA, method) ??
          Reflect.getMetadata(PLANE_METADATA, metatype);
        const verb = RequestMethod[Number(Reflect.getMetadata(METHOD_METADATA, method))];
        const parts = [prefix, path].flatMap((part) => part.split('/')).filter(Boolean);
        // What follows is the engine's path; the page calls it that.
        const route = parts.join('/').replace(/\*$/, ':path');
        return [`${String(plane)} ${String(verb)} /${route}`];
      });
    })
    .sort();
}

describe(PAGE, () => {
  it('lists every route with its method and plane, and no other', async () => {
    const running = await startGateway({ rl: { enabled: true, routerVerbs: true } });
    try {
      expect(documented()).toEqual(declared(running));
    } finally {
      await running.close();
    }
  });
});
