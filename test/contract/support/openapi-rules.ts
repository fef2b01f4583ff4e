/* eslint-disable @typescript-eslint/no-explicit-any -- the document is judged, not trusted */
type Node = Record<string, any>;

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];

/** Members an object of OpenAPI 3.0.3 may have; `x-…` is always allowed. */
const MEMBERS = {
  root: ['openapi', 'info', 'servers', 'paths', 'components', 'security', 'tags', 'externalDocs'],
  info: ['title', 'description', 'termsOfService', 'contact', 'license', 'version'],
  path: ['$ref', 'summary', 'description', ...METHODS, 'servers', 'parameters'],
  operation: [
    ...['tags', 'summary', 'description', 'externalDocs', 'operationId', 'parameters', 'security'],
    ...['requestBody', 'responses', 'callbacks', 'deprecated', 'servers'],
  ],
  parameter: [
    ...['name', 'in', 'description', 'required', 'deprecated', 'allowEmptyValue', 'style'],
    ...['explode', 'allowReserved', 'schema', 'example', 'examples', 'content'],
  ],
  requestBody: ['description', 'content', 'required'],
  response: ['description', 'headers', 'content', 'links'],
  header: [
    ...['description', 'required', 'deprecated', 'style', 'explode', 'schema', 'example'],
    ...['examples', 'content'],
  ],
  media: ['schema', 'example', 'examples', 'encoding'],
  example: ['summary', 'description', 'value', 'externalValue'],
  schema: [
    ...['title', 'multipleOf', 'maximum', 'exclusiveMaximum', 'minimum', 'exclusiveMinimum'],
    ...['maxLength', 'minLength', 'pattern', 'maxItems', 'minItems', 'uniqueItems', 'required'],
    ...['maxProperties', 'minProperties', 'enum', 'type', 'allOf', 'oneOf', 'anyOf', 'not'],
    ...['items', 'properties', 'additionalProperties', 'description', 'format', 'default'],
    ...['nullable', 'discriminator', 'readOnly', 'writeOnly', 'xml', 'externalDocs', 'example'],
    'deprecated',
  ],
  scheme: [
    ...['type', 'description', 'name', 'in', 'scheme', 'bearerFormat', 'flows'],
    'openIdConnectUrl',
  ],
};
const TYPES = ['string', 'number', 'integer', 'boolean', 'array', 'object'];

const partsOf = (schema: Node): string[] =>
  ['allOf', 'oneOf', 'anyOf'].filter((name) => schema[name] !== undefined);

/** Everything in a document that OpenAPI 3.0 does not allow, by where it is. */
export function faultsOf(document: Node): string[] {
  const faults: string[] = [];
  const operationIds = new Set<string>();
  const fault = (at: string, what: string): void => void faults.push(`${at}: ${what}`);

  const onlyKnown = (at: string, node: Node, kind: keyof typeof MEMBERS): void => {
    for (const name of Object.keys(node)) {
      if (!MEMBERS[kind].includes(name) && !name.startsWith('x-')) fault(at, `unknown ${name}`);
    }
  };

  const isReference = (at: string, node: Node): boolean => {
    if (node['$ref'] === undefined) return false;
    if (Object.keys(node).length > 1) fault(at, 'members beside $ref');
    const target = String(node['$ref'])
      .split('/')
      .slice(1)
      .reduce<any>((found, name) => found?.[name], document);
    if (!String(node['$ref']).startsWith('#/') || target === undefined) {
      fault(at, `${String(node['$ref'])} leads nowhere`);
    }
    return true;
  };

  const checkRequired = (at: string, { required, properties }: Node): void => {
    if (required === undefined) return;
    if (!Array.isArray(required) || required.length === 0) fault(at, 'required is no list');
    for (const name of [required].flat()) {
      if (properties?.[name] === undefined) fault(at, `requires unknown ${String(name)}`);
    }
  };

  const checkType = (at: string, schema: Node): void => {
    const { type, items, properties, additionalProperties } = schema;
    if (type === undefined) {
      if (partsOf(schema).length === 0) fault(at, 'an empty schema');
      return;
    }
    if (!TYPES.includes(type)) fault(at, `type ${String(type)}`);
    if (type === 'array' && items === undefined) fault(at, 'no items');
    if (type === 'object' && properties === undefined && additionalProperties === undefined) {
      fault(at, 'an object of nothing');
    }
  };

  const checkSchema = (at: string, schema: Node | undefined): void => {
    if (schema === undefined) {
      fault(at, 'no schema');
      return;
    }
    if (isReference(at, schema)) return;
    onlyKnown(at, schema, 'schema');
    checkType(at, schema);
    checkRequired(at, schema);
    if (schema['enum'] !== undefined && !(schema['enum'].length > 0)) fault(at, 'an empty enum');
    if (schema['items'] !== undefined) checkSchema(`${at}[]`, schema['items']);
    if (typeof schema['additionalProperties'] === 'object') {
      checkSchema(`${at}{}`, schema['additionalProperties']);
    }
    for (const [name, it] of Object.entries<Node>(schema['properties'] ?? {})) {
      checkSchema(`${at}.${name}`, it);
    }
    for (const name of partsOf(schema)) {
      for (const it of schema[name] as Node[]) checkSchema(`${at} ${name}`, it);
    }
  };

  const checkContent = (at: string, content: Node): void => {
    if (Object.keys(content).length === 0) fault(at, 'no media type');
    for (const [type, media] of Object.entries<Node>(content)) {
      const place = `${at} ${type}`;
      if (!/^[\w.+*-]+\/[\w.+*-]+/.test(type)) fault(place, 'no media type');
      onlyKnown(place, media, 'media');
      if (media['example'] !== undefined && media['examples'] !== undefined) {
        fault(place, 'example and examples');
      }
      for (const [name, it] of Object.entries<Node>(media['examples'] ?? {})) {
        onlyKnown(`${place} ${name}`, it, 'example');
      }
      checkSchema(place, media['schema']);
    }
  };

  const checkParameters = (at: string, path: string, parameters: Node[]): void => {
    const seen = new Set<string>();
    for (const parameter of parameters) {
      const place = `${at} ${String(parameter['in'])}:${String(parameter['name'])}`;
      onlyKnown(place, parameter, 'parameter');
      if (seen.has(place)) fault(place, 'twice');
      seen.add(place);
      if (!['path', 'query', 'header', 'cookie'].includes(parameter['in'])) fault(place, 'in');
      if (parameter['in'] === 'path' && parameter['required'] !== true) fault(place, 'optional');
      if (parameter['description'] === undefined) fault(place, 'no description');
      checkSchema(place, parameter['schema']);
    }
    const inPath = [...path.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name).sort();
    const declared = parameters
      .filter((it) => it['in'] === 'path')
      .map((it) => it['name'])
      .sort();
    if (inPath.join() !== declared.join()) fault(at, `path has ${inPath.join()}`);
  };

  const checkResponses = (at: string, responses: Node): void => {
    // 101: the connection goes on in another protocol.
    const isSuccess = (status: string): boolean => status === '101' || status.startsWith('2');
    if (!Object.keys(responses).some(isSuccess)) fault(at, 'no success');
    for (const [status, response] of Object.entries<Node>(responses)) {
      const place = `${at} ${status}`;
      if (!/^([1-5]\d\d|[1-5]XX|default)$/.test(status)) fault(place, 'no status');
      onlyKnown(place, response, 'response');
      if (!response['description']) fault(place, 'no description');
      for (const [name, header] of Object.entries<Node>(response['headers'] ?? {})) {
        onlyKnown(`${place} ${name}`, header, 'header');
        checkSchema(`${place} ${name}`, header['schema']);
      }
      if (response['content'] !== undefined) checkContent(place, response['content']);
    }
  };

  const checkSecurity = (at: string, requirements: Node[] | undefined): void => {
    if (requirements === undefined) fault(at, 'says nothing of keys');
    for (const name of (requirements ?? []).flatMap((it) => Object.keys(it))) {
      if (document['components']?.securitySchemes?.[name] === undefined) fault(at, `no ${name}`);
    }
  };

  const checkOperation = (at: string, path: string, operation: Node): void => {
    onlyKnown(at, operation, 'operation');
    if (!operation['summary']) fault(at, 'no summary');
    if (operation['tags']?.length !== 1) fault(at, 'not one tag');
    for (const tag of operation['tags'] ?? []) {
      if (!document['tags'].some((it: Node) => it['name'] === tag)) fault(at, `no tag ${tag}`);
    }
    const id = String(operation['operationId']);
    if (operation['operationId'] === undefined || operationIds.has(id)) fault(at, `id ${id}`);
    operationIds.add(id);
    checkSecurity(at, operation['security']);
    checkParameters(at, path, operation['parameters'] ?? []);
    if (operation['requestBody'] !== undefined) {
      onlyKnown(at, operation['requestBody'], 'requestBody');
      checkContent(`${at} body`, operation['requestBody'].content);
    }
    checkResponses(at, operation['responses']);
  };

  onlyKnown('document', document, 'root');
  if (!/^3\.0\.\d$/.test(document['openapi'])) fault('document', 'not OpenAPI 3.0');
  onlyKnown('info', document['info'], 'info');
  if (!document['info'].title || !document['info'].version) fault('info', 'title or version');
  for (const [path, item] of Object.entries<Node>(document['paths'])) {
    if (!path.startsWith('/')) fault(path, 'does not start with /');
    onlyKnown(path, item, 'path');
    for (const method of METHODS) {
      if (item[method] !== undefined) checkOperation(`${method} ${path}`, path, item[method]);
    }
  }
  for (const [name, schema] of Object.entries<Node>(document['components'].schemas)) {
    if (!/^[\w.-]+$/.test(name)) fault(name, 'no name of a component');
    checkSchema(name, schema);
  }
  for (const [name, scheme] of Object.entries<Node>(document['components'].securitySchemes)) {
    onlyKnown(name, scheme, 'scheme');
  }
  return faults;
}
