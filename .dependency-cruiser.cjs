'use strict';
// The import matrix of docs/architecture.md, executable. A lib may import the libs listed beside it
// and nothing else of ours; everything enters a lib through its index.ts.

const ALLOWED = {
  protocol: [],
  'kv-index': [],
  'plugin-api': ['protocol'],
  'plugin-host': ['protocol', 'plugin-api'],
  config: ['protocol'],
  auth: ['protocol', 'plugin-api'],
  audit: ['protocol', 'plugin-api'],
  admission: ['protocol', 'plugin-api'],
  compat: ['protocol', 'plugin-api'],
  history: ['protocol', 'plugin-api'],
  upstream: ['protocol', 'plugin-api'],
  registry: ['protocol', 'plugin-api'],
  engine: ['protocol', 'plugin-api', 'plugin-host'],
  observability: ['protocol', 'plugin-api', 'plugin-host'],
  policy: ['protocol', 'plugin-api', 'plugin-host', 'kv-index'],
  proxy: ['protocol', 'plugin-api', 'plugin-host', 'registry', 'policy', 'upstream'],
  rl: ['protocol', 'plugin-api'],
  testing: ['protocol', 'plugin-api'],
};

module.exports = {
  forbidden: [
    ...Object.entries(ALLOWED).map(([lib, allowed]) => ({
      name: `lib-${lib}`,
      severity: 'error',
      comment: `libs/${lib} may import only: ${allowed.join(', ') || 'nothing of ours'}`,
      from: { path: `^libs/${lib}/src`, pathNot: '\\.spec\\.ts$' },
      to: {
        path: '^libs/',
        pathNot: [`^libs/${lib}/`, ...allowed.map((name) => `^libs/${name}/`)],
      },
    })),
    {
      name: 'core-is-framework-free',
      severity: 'error',
      comment: 'Laws live in core/ as plain TypeScript.',
      from: { path: '^libs/[^/]+/src/core/', pathNot: '\\.spec\\.ts$' },
      to: {
        path: [
          'node_modules/(@nestjs|rxjs|fastify|undici|pino|prom-client|class-|pg/|ioredis)',
          '^libs/([^/]+)/src/(?!core/|index\\.ts$)',
        ],
      },
    },
    {
      name: 'core-takes-only-types-from-plugin-api',
      severity: 'error',
      comment: 'plugin-api carries Nest decorators; core may use its types, never its values.',
      from: { path: '^libs/[^/]+/src/core/', pathNot: '\\.spec\\.ts$' },
      to: { path: '^libs/plugin-api/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'undici-only-in-upstream',
      severity: 'error',
      comment: 'One place speaks to engines; everyone else asks it.',
      from: { path: '^(libs|src)/', pathNot: ['^libs/upstream/', '\\.spec\\.ts$'] },
      to: { path: 'node_modules/undici' },
    },
    {
      name: 'swagger-only-when-asked',
      severity: 'error',
      comment:
        'It costs memory in every process; descriptions are files of their own, loaded lazily.',
      from: {
        path: '^(libs|src)/',
        pathNot: [
          '^libs/[^/]+/src/docs/',
          '^src/openapi/(build-document|planes|docs\\.description)\\.ts$',
          '\\.spec\\.ts$',
        ],
      },
      to: { path: 'node_modules/@nestjs/swagger', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'enter-by-the-front-door',
      severity: 'error',
      comment: 'Import a lib through its index.ts.',
      from: { path: '^(libs/([^/]+)|src|test|bench|examples)/' },
      to: { path: '^libs/[^/]+/src/.+', pathNot: ['^libs/$2/', '^libs/[^/]+/src/index\\.ts$'] },
    },
    {
      name: 'libs-never-import-app',
      severity: 'error',
      from: { path: '^libs/' },
      to: { path: '^(src|test|bench|examples)/' },
    },
    {
      name: 'nothing-imports-leaves',
      severity: 'error',
      from: { path: '^(src|libs|bench)/' },
      to: { path: '^(examples|clients|test)/' },
    },
    {
      name: 'client-stands-alone',
      severity: 'error',
      comment: 'A package of its own without dependencies: Node alone.',
      from: { path: '^clients/typescript/src/' },
      to: { pathNot: '^clients/typescript/src/', dependencyTypesNot: ['core'] },
    },
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: { extensions: ['.ts', '.js', '.json'] },
  },
};
