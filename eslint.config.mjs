import tseslint from 'typescript-eslint';
import prettier from 'eslint-config-prettier';

/** Each ban carries its reason; an exception needs an inline disable with `-- reason`. */
const bannedProperties = [
  {
    object: 'process',
    property: 'env',
    message: 'Options come from libs/config; nothing else reads the environment.',
  },
  { object: 'process', property: 'exit', message: 'Only src/main.ts ends the process.' },
  {
    object: 'crypto',
    property: 'randomUUID',
    message: 'Worker and job ids are UUIDv7: they sort by time.',
  },
  {
    object: 'URL',
    property: 'canParse',
    message: 'On Node 20 it misreads names that are not ASCII; use parseUrl of @smg/protocol.',
  },
];

const bannedSyntax = [
  { selector: 'ExportDefaultDeclaration', message: 'Named exports only: one name for one thing.' },
  {
    selector: "MemberExpression[object.name='Scope'][property.name='REQUEST']",
    message: 'Request scope spreads to every dependent and costs about half again in CPU.',
  },
  {
    selector: "CallExpression[callee.name='forwardRef']",
    message: 'A cycle: use an event or a token in plugin-api.',
  },
];

export default tseslint.config(
  {
    ignores: [
      'dist/**',
      'coverage/**',
      'node_modules/**',
      'examples/*/node_modules/**',
      'examples/*/dist/**',
      'clients/*/dist/**',
      '.tmp/**',
    ],
  },
  {
    files: ['**/*.ts'],
    extends: [...tseslint.configs.strictTypeChecked, ...tseslint.configs.stylisticTypeChecked],
    languageOptions: {
      parserOptions: {
        project: ['./tsconfig.json', './examples/*/tsconfig.json'],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_' },
      ],
      '@typescript-eslint/no-unnecessary-condition': [
        'error',
        { allowConstantLoopConditions: 'only-allowed-literals' },
      ],
      // Descriptions for the OpenAPI document are read when it is first asked for, not at the start.
      '@typescript-eslint/no-require-imports': ['error', { allow: [String.raw`\.description$`] }],
      'no-restricted-properties': ['error', ...bannedProperties],
      'no-restricted-syntax': ['error', ...bannedSyntax],
      'no-console': 'error',
      'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
      complexity: ['error', 15],
      'max-params': 'off',
      '@typescript-eslint/max-params': ['error', { max: 5 }],
      eqeqeq: 'error',
    },
  },
  {
    // Tests speak to the process and to loosely typed JSON; assertions narrow it.
    files: [
      '**/*.spec.ts',
      '**/*.e2e-spec.ts',
      'test/**/*.ts',
      'clients/*/test/**/*.ts',
      'bench/**/*.ts',
    ],
    rules: {
      'max-lines': ['error', { max: 500, skipBlankLines: true, skipComments: true }],
      'no-restricted-properties': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-empty-function': 'off',
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-confusing-void-expression': 'off',
    },
  },
  {
    // The command line and the benches print for people.
    files: ['src/main.ts', 'src/cli/**/*.ts', 'bench/**/*.ts', 'examples/**/*.ts'],
    rules: { 'no-console': 'off' },
  },
  {
    files: ['src/main.ts', 'bench/**/main.ts', 'examples/**/*.ts'],
    rules: { 'no-restricted-properties': 'off' },
  },
  {
    files: ['libs/config/src/**/*.ts'],
    rules: {
      'no-restricted-properties': [
        'error',
        ...bannedProperties.filter((ban) => ban.property !== 'env'),
      ],
    },
  },
  { files: ['**/*.{js,cjs,mjs}'], extends: [tseslint.configs.disableTypeChecked] },
  prettier,
);
