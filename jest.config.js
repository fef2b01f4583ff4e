'use strict';
// Plain JavaScript: Jest needs no loader to read it.

const swc = [
  '@swc/jest',
  {
    sourceMaps: 'inline',
    module: { type: 'commonjs' },
    jsc: {
      target: 'es2022',
      keepClassNames: true,
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true },
    },
  },
];

// The client is compiled to ES modules as well, so its imports name files as they will be.
const clientImports = {
  '^\\./(encode|fanout-error|fetch-like|models|node-fetch|options|paused|read|rl|rl-error|transport)\\.js$':
    './$1',
};

const project = (displayName, testMatch) => ({
  displayName,
  rootDir: __dirname,
  testEnvironment: 'node',
  testMatch,
  // jose is an ES module; Node requires it as it is, Jest's own loader cannot.
  transform: { '^.+\\.ts$': swc, 'node_modules/jose/.+\\.js$': swc },
  transformIgnorePatterns: ['/node_modules/(?!jose/)'],
  moduleFileExtensions: ['ts', 'js', 'json'],
  moduleNameMapper: {
    '^@smg/([^/]+)$': '<rootDir>/libs/$1/src',
    ...(displayName === 'client' ? clientImports : {}),
  },
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/clients/typescript/dist/'],
  setupFiles: ['reflect-metadata'],
});

module.exports = {
  testTimeout: 20_000,
  // Most suites wait for sockets and clocks more than they compute. A worker keeps what its suites loaded.
  maxWorkers: 2,
  workerIdleMemoryLimit: '1GB',
  projects: [
    project('unit', ['<rootDir>/{src,libs}/**/*.spec.ts', '<rootDir>/bench/**/*.spec.ts']),
    project('e2e', ['<rootDir>/test/e2e/**/*.e2e-spec.ts']),
    project('plugin', ['<rootDir>/test/plugin/**/*.spec.ts']),
    project('frameworks', ['<rootDir>/test/frameworks/**/*.spec.ts']),
    project('contract', ['<rootDir>/test/contract/**/*.spec.ts']),
    project('client', ['<rootDir>/clients/typescript/test/**/*.spec.ts']),
  ],
};
