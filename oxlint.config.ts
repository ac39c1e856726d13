/**
 * The lint rules of this project: strict types, the allowed imports between folders (rooms), and
 * restrictions on random numbers, markup and evaluated code. test/support/lint.ts runs them and
 * refuses comments that switch a rule off. The tests in test/unit/lint have code that breaks each
 * rule, and rooms.test.ts there refuses cycles.
 */

import { join } from 'node:path';
import type { DummyRuleMap, OxlintConfig, OxlintOverride } from 'oxlint';

/**
 * Packages that only one folder or file may import. Other code uses the interface of that place.
 */
const PACKAGES = [
  { name: 'vscode', home: 'src/extension', message: 'Only src/extension imports vscode.' },
  { name: 'better-sqlite3', home: 'src/store', message: 'Only src/store speaks SQL.' },
  { name: 'onnxruntime-node', home: 'src/runtime', message: 'Only src/runtime holds ONNX Runtime sessions.' },
  {
    name: '@vscode/webview-ui-toolkit',
    home: 'webview/common/toolkit.ts',
    message: 'Import the controls from webview/common/toolkit.ts, so that they can be replaced.',
  },
];

const NODE_MODULES = { regex: '^node:', message: 'No node: modules here: numbers in, numbers out.' };

const withoutPackages = (home?: string): { regex: string; message: string }[] =>
  PACKAGES.filter((entry) => entry.home !== home).map(({ name, message }) => ({ regex: `^${name}(/|$)`, message }));

/** Returns the import rule of some files, which replaces the general one. */
const imports = (files: string[], home?: string, ...more: { regex: string; message: string }[]): OxlintOverride => ({
  files,
  rules: { 'no-restricted-imports': ['error', { patterns: [...withoutPackages(home), ...more] }] },
});

const BROWSER = ['document', 'window', 'navigator', 'localStorage', 'HTMLElement', 'customElements', 'location'];

/** Rules of typescript-eslint that need types, with their options or null. */
export type TypedRules = Readonly<Record<string, object | string | null>>;

/** The rules of `strict-type-checked`. */
export const TYPED: TypedRules = {
  'await-thenable': null,
  'no-array-delete': null,
  'no-base-to-string': null,
  'no-confusing-void-expression': { ignoreArrowShorthand: true },
  'no-deprecated': null,
  'no-duplicate-type-constituents': null,
  'no-floating-promises': null,
  'no-for-in-array': null,
  'no-generated-empty-object-type': null,
  'no-implied-eval': null,
  'no-meaningless-void-operator': null,
  'no-misused-promises': null,
  'no-misused-spread': null,
  'no-mixed-enums': null,
  'no-redundant-type-constituents': null,
  'no-unnecessary-boolean-literal-compare': null,
  'no-unnecessary-condition': { allowConstantLoopConditions: 'only-allowed-literals' },
  'no-unnecessary-template-expression': null,
  'no-unnecessary-type-arguments': null,
  'no-unnecessary-type-assertion': null,
  'no-unnecessary-type-conversion': null,
  'no-unnecessary-type-parameters': null,
  'no-unsafe-argument': null,
  'no-unsafe-assignment': null,
  'no-unsafe-call': null,
  'no-unsafe-class-instance-assignment': null,
  'no-unsafe-enum-assignment': null,
  'no-unsafe-enum-comparison': null,
  'no-unsafe-member-access': null,
  'no-unsafe-return': null,
  'no-unsafe-unary-minus': null,
  'no-useless-default-assignment': null,
  'only-throw-error': null,
  'prefer-promise-reject-errors': null,
  'prefer-reduce-type-parameter': null,
  'prefer-return-this-type': null,
  'related-getter-setter-pairs': null,
  'require-await': null,
  'restrict-plus-operands': {
    allowAny: false,
    allowBoolean: false,
    allowNullish: false,
    allowNumberAndString: false,
    allowRegExp: false,
  },
  'restrict-template-expressions': { allowNumber: true },
  'return-await': 'error-handling-correctness-only',
  'switch-exhaustiveness-check': { considerDefaultExhaustiveForUnions: true },
  'unbound-method': null,
  'use-unknown-in-catch-callback-variable': null,
};

/** Rules of files in test/, in which the promises of node:test are not awaited. */
export const TYPED_OF_TESTS: TypedRules = {
  'no-floating-promises': {
    allowForKnownSafeCalls: [
      {
        from: 'package',
        package: 'node:test',
        name: ['test', 'it', 'describe', 'suite', 'before', 'after', 'beforeEach', 'afterEach'],
      },
    ],
  },
};

/** Returns the rules for an editor: oxlint runs tsgolint itself and does not know all of them. */
const forEditors = (rules: TypedRules): DummyRuleMap =>
  Object.fromEntries(
    Object.entries(rules)
      .filter(([name]) => name !== 'no-unsafe-class-instance-assignment')
      .map(([name, options]) => [`typescript/${name}`, options === null ? 'error' : ['error', options]]),
  );

const config: OxlintConfig = {
  plugins: ['typescript'],
  jsPlugins: [join(import.meta.dirname, 'test', 'support', 'houseRules.ts')],
  categories: { correctness: 'off' },
  options: { respectEslintDisableDirectives: false },
  ignorePatterns: ['dist/', 'node_modules/', 'test/artifacts/', '.c3/', '*.mjs', '*.js', '*.cjs'],
  rules: {
    ...forEditors(TYPED),
    'house/arrows': 'error',
    'house/max-len': 'error',
    'house/no-restricted-syntax': 'error',
    'house/no-type-only-values': 'error',
    curly: 'error',
    eqeqeq: 'error',
    'no-eval': ['error', { allowIndirect: false }],
    'no-new-func': 'error',
    'no-restricted-properties': [
      'error',
      { object: 'Math', property: 'random', message: 'Use the counter-based generator of src/runtime/random.ts.' },
      ...['innerHTML', 'outerHTML', 'insertAdjacentHTML', 'createContextualFragment'].map((property) => ({
        property,
        message: 'Texts are never markup: use textContent.',
      })),
      { object: 'document', property: 'write', message: 'Texts are never markup: use textContent.' },
    ],
    'no-var': 'error',
    'prefer-const': 'error',
    'prefer-rest-params': 'error',
    'prefer-spread': 'error',
    'typescript/ban-ts-comment': ['error', { minimumDescriptionLength: 10 }],
    'typescript/consistent-type-imports': 'error',
    'no-array-constructor': 'error',
    'typescript/no-duplicate-enum-values': 'error',
    'typescript/no-empty-object-type': 'error',
    'typescript/no-explicit-any': 'error',
    'typescript/no-extra-non-null-assertion': 'error',
    'typescript/no-invalid-void-type': 'error',
    'typescript/no-misused-new': 'error',
    'typescript/no-namespace': 'error',
    'typescript/no-non-null-asserted-nullish-coalescing': 'error',
    'typescript/no-non-null-asserted-optional-chain': 'error',
    'typescript/no-non-null-assertion': 'error',
    'typescript/no-require-imports': 'error',
    'typescript/no-this-alias': 'error',
    'typescript/no-unnecessary-type-constraint': 'error',
    'typescript/no-unsafe-declaration-merging': 'error',
    'typescript/no-unsafe-function-type': 'error',
    'no-unused-expressions': 'error',
    'no-unused-vars': ['error', { args: 'after-used', caughtErrors: 'all', ignoreRestSiblings: true, vars: 'all' }],
    'no-useless-constructor': 'error',
    'typescript/no-wrapper-object-types': 'error',
    'typescript/prefer-as-const': 'error',
    'typescript/prefer-literal-enum-member': 'error',
    'typescript/prefer-namespace-keyword': 'error',
    'typescript/triple-slash-reference': 'error',
    'typescript/unified-signatures': 'error',
  },
  overrides: [
    imports(['src/**/*.ts', 'webview/**/*.ts']),
    ...['src/extension', 'src/store', 'src/runtime'].map((home) => imports([`${home}/**/*.ts`], home)),
    imports(
      ['src/shared/**/*.ts', 'src/credit/**/*.ts', 'src/diagnostics/**/*.ts', 'src/report/**/*.ts', 'webview/**/*.ts'],
      undefined,
      NODE_MODULES,
    ),
    imports(['webview/common/toolkit.ts'], 'webview/common/toolkit.ts', NODE_MODULES),
    {
      files: ['src/**/*.ts'],
      rules: {
        'no-restricted-globals': [
          'error',
          ...BROWSER.map((name) => ({ name, message: 'Only webview/ runs in a page.' })),
        ],
      },
    },
    { files: ['src/**/*.ts', 'webview/**/*.ts'], rules: { 'max-lines': ['error', { max: 600 }] } },
    { files: ['test/**/*.ts'], rules: forEditors(TYPED_OF_TESTS) },
  ],
};

export default config;
