import { type INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { type Plane } from '@smg/plugin-api';
import { planesOfRoutes } from '../fastify/route-planes';
import { packageVersion } from '../package-info';
import { describeControllers } from './describe-controllers';
import { CONTROL_SCHEME, describePlane, SERVING_SCHEME } from './planes';
import { TAGS } from './tags';

const DESCRIPTION = `One endpoint in front of a fleet of LLM inference engines.

Routes belong to a plane. **Control** routes take an operator's key or token, **inference** routes a
serving key, the others none; a plane without keys is open.

Any route may answer 414 (\`request_uri_too_long\`), 500 (\`internal_error\`), and 405 with \`Allow\` to
another method. Every answer carries \`x-request-id\`.`;

const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'options', 'head', 'trace'] as const;

/** Describes every route this application has, as OpenAPI 3.0. Costly: call it once. */
export function buildDocument(app: INestApplication): OpenAPIObject {
  describeControllers(app);
  const builder = new DocumentBuilder()
    .setTitle('SMG for Node')
    .setDescription(DESCRIPTION)
    .setVersion(packageVersion())
    .setLicense('Apache-2.0', 'https://www.apache.org/licenses/LICENSE-2.0')
    .addServer('/')
    .addBearerAuth(
      { type: 'http', scheme: 'bearer', description: 'Key or token of an operator.' },
      CONTROL_SCHEME,
    )
    .addBearerAuth(
      { type: 'http', scheme: 'bearer', description: 'Serving key of a client.' },
      SERVING_SCHEME,
    );
  const document = SwaggerModule.createDocument(app, builder.build(), {
    operationIdFactory: (controller, method) => operationIdOf(controller, method),
    autoTagControllers: false,
  });
  addPlanes(document, planesOfRoutes(app).declared);
  document.tags = usedTags(document);
  document.paths = sortedPaths(document);
  return document;
}

/** `WorkersController`, `add` as `workersAdd`. */
function operationIdOf(controller: string, method: string): string {
  const group = controller.replace(/Controller$/, '');
  return `${group.charAt(0).toLowerCase()}${group.slice(1)}${method.charAt(0).toUpperCase()}${method.slice(1)}`;
}

/** What a route's plane says of it holds whether or not its description says so. */
function addPlanes(document: OpenAPIObject, planes: ReadonlyMap<string, Plane>): void {
  for (const [route, plane] of planes) {
    const [method = '', template = ''] = route.split(' ');
    const path = template.replaceAll(/:(\w+)/g, '{$1}').replace(/\*$/, '{path}');
    const operation = document.paths[path]?.[method.toLowerCase() as (typeof METHODS)[number]];
    if (operation !== undefined) describePlane(operation, plane);
  }
}

function operationsOf(document: OpenAPIObject): { readonly path: string; readonly tag: string }[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method];
      return operation === undefined ? [] : [{ path, tag: operation.tags?.[0] ?? '' }];
    }),
  );
}

/** Ours in our order; those of plug-ins describe themselves, or do not. */
function usedTags(document: OpenAPIObject): { name: string; description: string }[] {
  const used = new Set(operationsOf(document).map(({ tag }) => tag));
  return TAGS.filter(([name]) => used.has(name)).map(([name, description]) => ({
    name,
    description,
  }));
}

/** By group, then in the order of the controllers, so that the document reads as its page does. */
function sortedPaths(document: OpenAPIObject): OpenAPIObject['paths'] {
  const rank = new Map<string, number>();
  for (const { path, tag } of operationsOf(document)) {
    const index = TAGS.findIndex(([name]) => name === tag);
    rank.set(path, index < 0 ? TAGS.length : index);
  }
  return Object.fromEntries(
    Object.entries(document.paths).sort(
      ([one], [other]) => (rank.get(one) ?? 0) - (rank.get(other) ?? 0),
    ),
  );
}
