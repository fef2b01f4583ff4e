import { Controller, Get, Module, Post } from '@nestjs/common';
import { ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import { ControlPlane, DescribedBy, Public, type RouteDescriptions } from '@smg/plugin-api';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';

let loads = 0;

function description(): RouteDescriptions<'stats'> {
  loads += 1;
  return {
    controller: [ApiTags('Acme')],
    methods: {
      stats: [
        ApiOperation({ summary: 'Numbers' }),
        ApiResponse({ status: 200, description: 'The numbers.', schema: { type: 'object' } }),
      ],
    },
  };
}

@DescribedBy(description)
@ControlPlane()
@Controller('acme/stats')
class LazyController {
  @Get()
  stats(): object {
    return {};
  }
}

@Public()
@Controller('acme/bare')
class BareController {
  @Post(':name')
  post(): string {
    return '';
  }
}

@ApiTags('Acme')
@ControlPlane()
@Controller('acme/eager')
class EagerController {
  @Get()
  @ApiOperation({ summary: 'Decorated in place' })
  get(): string {
    return '';
  }
}

@DescribedBy((): RouteDescriptions<'get'> => {
  throw new Error('no such file');
})
@ControlPlane()
@Controller('acme/broken')
class BrokenController {
  @Get()
  get(): string {
    return '';
  }
}

@Module({ controllers: [LazyController, BareController, EagerController, BrokenController] })
class AcmePlugin {}

describe("a plug-in's routes in the OpenAPI document", () => {
  let gateway: RunningGateway;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- JSON of any shape
  let paths: Record<string, any>;

  beforeAll(async () => {
    gateway = await startGateway({}, { plugins: [AcmePlugin] });
    expect(loads).toBe(0);
    paths = (await send(`${gateway.url}/openapi.json`)).json['paths'];
    await send(`${gateway.url}/openapi.json`);
  });
  afterAll(() => gateway.close());

  it('say what is described elsewhere, read once and only when asked', () => {
    expect(paths['/acme/stats'].get).toMatchObject({ summary: 'Numbers', tags: ['Acme'] });
    expect(loads).toBe(1);
  });

  it('say what is decorated in place', () => {
    expect(paths['/acme/eager'].get.summary).toBe('Decorated in place');
  });

  it('carry the security of their plane, described or not', () => {
    expect(paths['/acme/stats'].get.security).toEqual([{ 'control-plane': [] }]);
    expect(paths['/acme/bare/{name}'].post.security).toEqual([]);
    expect(Object.keys(paths['/acme/stats'].get.responses)).toEqual(
      expect.arrayContaining(['200', '401', '403']),
    );
  });

  it('do without a description that cannot be loaded, which the log names', () => {
    expect(paths['/acme/broken'].get.security).toEqual([{ 'control-plane': [] }]);
    expect(paths['/workers'].get.summary).toBe('List the workers');
    expect(gateway.rawLogs.join('')).toContain('BrokenController is not described: no such file');
  });
});
