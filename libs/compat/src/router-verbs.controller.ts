import { Controller, Get, Inject, Post, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { GatewayError } from '@smg/protocol';
import { ControlPlane, DescribedBy, ENGINE_CONTROL, type EngineControl } from '@smg/plugin-api';
import type * as Description from './docs/router-verbs.description';
import { fleetStatus, mergedMembers } from './core/fleet-status';
import { methodNameOf, ROUTER_VERBS, type RouterVerb } from './core/router-verbs';
import { bytesOf, queryOf, whileWaited, type RawReply, type RawRequest } from './raw-http';

/**
 * Control routes of engines at the root, each a call to every engine. For clients that know one address
 * only and take it for an engine. The routes are those of {@link ROUTER_VERBS}.
 */
@DescribedBy<never>(
  () => (require('./docs/router-verbs.description') as typeof Description).ROUTER_VERBS_DESCRIPTION,
)
@ControlPlane()
@Controller()
export class RouterVerbsController {
  constructor(@Inject(ENGINE_CONTROL) private readonly control: EngineControl) {}

  /** @internal Called by the methods that {@link declareVerbs} makes. */
  async callAll(path: string, request: RawRequest, reply: RawReply): Promise<void> {
    await whileWaited(reply, async (left) => {
      const report = await this.control.callAll(
        {
          method: request.method,
          path,
          query: queryOf(request),
          rawHeaders: request.raw.rawHeaders,
          body: bytesOf(request),
        },
        left,
      );
      if (report === undefined) throw new GatewayError('no_workers', 'No engine is registered');
      const status = fleetStatus(report);
      const body = report.render({ success: status === 200, ...mergedMembers(report) });
      reply.code(status).header('content-type', 'application/json').send(body);
    });
  }
}

/** Gives the controller a method for each verb, as if it were written out with its decorators. */
function declareVerbs(controller: typeof RouterVerbsController): void {
  const { prototype } = controller;
  for (const verb of ROUTER_VERBS) {
    for (const method of verb.methods) {
      const name = methodNameOf(method, verb.path);
      const answer = async function (
        this: RouterVerbsController,
        request: RawRequest,
        reply: RawReply,
      ): Promise<void> {
        await this.callAll(verb.path, request, reply);
      };
      // The OpenAPI document names operations after it.
      Object.defineProperty(answer, 'name', { value: name });
      Object.defineProperty(prototype, name, { configurable: true, writable: true, value: answer });
      decorate(prototype, name, verb, method === 'GET' ? Get : Post);
    }
  }
}

function decorate(
  prototype: object,
  name: string,
  verb: RouterVerb,
  route: typeof Get | typeof Post,
): void {
  const descriptor = Object.getOwnPropertyDescriptor(prototype, name);
  if (descriptor === undefined) throw new Error(`${name} is not declared`);
  route(verb.path)(prototype, name, descriptor);
  const changesEngines = verb.isRead !== true;
  RouteConfig({ keepsBytes: true, changesEngines })(prototype, name, descriptor);
  Req()(prototype, name, 0);
  Res()(prototype, name, 1);
}

declareVerbs(RouterVerbsController);
