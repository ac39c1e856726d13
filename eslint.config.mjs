/**
 * The rules of the house: strict types, the directions in which the rooms import, and what may not reach a token, a page or a shell.
 * Comments cannot switch a rule off.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'eslint/config';
import importX from 'eslint-plugin-import-x';
import tseslint from 'typescript-eslint';

/** Rooms of src that each room may import; src/shared is open to all. Downward only, so there are no circles between rooms. */
const ROOMS_BELOW = {
  shared: [],
  files: [],
  runtime: [],
  store: [],
  team: ['runtime', 'store'],
  tasks: ['runtime', 'store'],
  policy: ['team', 'tasks', 'runtime', 'store'],
  evaluate: ['team', 'tasks', 'runtime', 'store'],
  replay: ['policy', 'evaluate', 'team', 'tasks', 'runtime', 'store'],
  credit: ['replay', 'policy', 'evaluate', 'team', 'tasks', 'runtime', 'store'],
  training: ['credit', 'replay', 'policy', 'evaluate', 'team', 'tasks', 'runtime', 'store'],
  diagnostics: ['credit', 'replay', 'policy', 'evaluate', 'team', 'tasks', 'runtime', 'store'],
  report: ['credit'],
  client: [],
  engine: ['client', 'report', 'training', 'diagnostics', 'credit', 'replay', 'policy', 'evaluate', 'team', 'tasks', 'runtime', 'store'],
  extension: ['client', 'report'],
};

/** The rooms that are numbers in, numbers out: they have no files. */
const WITHOUT_FILES = ['shared', 'credit', 'diagnostics', 'report'];

/** Single files beyond those rooms: the store's read-only door and what it looks like, whether a process lives, what a configuration, its data and a protocol file may say, and the manifest that names the version. */
const DOORS = { extension: ['./src/store/read/reader.ts', './src/store/files/processes.ts', './src/training/config.ts', './src/training/readConfig.ts', './src/training/checkConfig.ts', './src/team/parseProtocol.ts', './src/tasks/load.ts', './src/tasks/overlap.ts'], report: ['./src/store/types.ts'], engine: ['./package.json'] };

/** Every folder of webview/ but the common one is the page of a panel. */
const PAGES = readdirSync(join(import.meta.dirname, 'webview')).filter((name) => name !== 'common');

const zones = [
  ...Object.entries(ROOMS_BELOW).map(([room, rooms]) => {
    const below = [...new Set(['shared', ...(WITHOUT_FILES.includes(room) ? [] : ['files']), ...rooms])];
    return {
      target: `./src/${room}`,
      from: '.',
      except: [...new Set([room, ...below].map((allowed) => `./src/${allowed}`)), ...(DOORS[room] ?? []), './node_modules'],
      message: `src/${room} may import ${[...below, ...(DOORS[room] ?? [])].join(', ')} only.`,
    };
  }),
  ...PAGES.map((page) => ({
    target: `./webview/${page}`,
    from: '.',
    except: [`./webview/${page}`, './webview/common', './src/shared', './node_modules'],
    message: `webview/${page} may import webview/common and src/shared only.`,
  })),
  {
    target: './webview/common',
    from: '.',
    except: ['./webview/common', './src/shared', './node_modules'],
    message: 'webview/common may import src/shared only.',
  },
];

/** Packages that one place only may import: elsewhere its room's own interface is the way. */
const PACKAGES = [
  { name: 'vscode', home: 'src/extension', message: 'Only src/extension imports vscode.' },
  { name: 'better-sqlite3', home: 'src/store', message: 'Only src/store speaks SQL.' },
  { name: 'onnxruntime-node', home: 'src/runtime', message: 'Only src/runtime holds ONNX Runtime sessions.' },
  { name: '@vscode/webview-ui-toolkit', home: 'webview/common/toolkit.ts', message: 'Import the controls from webview/common/toolkit.ts, so that they can be replaced.' },
];

const NODE_MODULES = { regex: '^node:', message: 'No node: modules here: numbers in, numbers out.' };

const withoutPackages = (home) =>
  PACKAGES.filter((entry) => entry.home !== home).map(({ name, message }) => ({ regex: `^${name}(/|$)`, message }));

/** The import rule of one place: replaces the one that holds everywhere. */
const imports = (files, home, ...more) => ({
  files,
  rules: { 'no-restricted-imports': ['error', { patterns: [...withoutPackages(home), ...more] }] },
});

const BROWSER = ['document', 'window', 'navigator', 'localStorage', 'HTMLElement', 'customElements', 'location'];

export default defineConfig(
  { ignores: ['dist/', 'node_modules/', 'test/artifacts/', '.c3/'] },
  { linterOptions: { noInlineConfig: true } },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname } },
    plugins: { 'import-x': importX },
    settings: { 'import-x/resolver-next': [importX.createNodeResolver({ extensions: ['.ts', '.js', '.mjs', '.json'] })], 'import-x/parsers': { '@typescript-eslint/parser': ['.ts'] } },
    rules: {
      'import-x/no-restricted-paths': ['error', { basePath: import.meta.dirname, zones }],
      'import-x/no-cycle': ['error', { ignoreExternal: true }],
      eqeqeq: 'error',
      'no-eval': 'error',
      'no-new-func': 'error',
      '@typescript-eslint/no-implied-eval': 'error',
      'no-restricted-properties': [
        'error',
        { object: 'Math', property: 'random', message: 'Use the counter-based generator of src/runtime/random.ts.' },
        ...['innerHTML', 'outerHTML', 'insertAdjacentHTML', 'createContextualFragment'].map((property) => ({ property, message: 'Texts are never markup: use textContent.' })),
        { object: 'document', property: 'write', message: 'Texts are never markup: use textContent.' },
      ],
      'no-restricted-syntax': [
        'error',
        { selector: 'TSAsExpression > TSAsExpression[typeAnnotation.type="TSUnknownKeyword"]', message: 'A cast through unknown hides a wrong type: check the value.' },
      ],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { ignoreRestSiblings: true }],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-unnecessary-condition': ['error', { allowConstantLoopConditions: 'only-allowed-literals' }],
    },
  },
  imports(['src/**/*.ts', 'webview/**/*.ts']),
  ...['src/extension', 'src/store', 'src/runtime'].map((home) => imports([`${home}/**/*.ts`], home)),
  imports(['webview/common/toolkit.ts'], 'webview/common/toolkit.ts'),
  imports(['src/shared/**/*.ts', 'src/credit/**/*.ts', 'src/diagnostics/**/*.ts', 'src/report/**/*.ts', 'webview/**/*.ts'], undefined, NODE_MODULES),
  imports(['webview/common/toolkit.ts'], 'webview/common/toolkit.ts', NODE_MODULES),
  {
    files: ['src/**/*.ts'],
    rules: { 'no-restricted-globals': ['error', ...BROWSER.map((name) => ({ name, message: 'Only webview/ runs in a page.' }))] },
  },
  { files: ['src/**/*.ts', 'webview/**/*.ts'], rules: { 'max-lines': ['error', 400] } },
  {
    files: ['test/**/*.ts'],
    rules: {
      '@typescript-eslint/no-floating-promises': ['error', { allowForKnownSafeCalls: [{ from: 'package', package: 'node:test', name: ['test', 'it', 'describe', 'suite', 'before', 'after', 'beforeEach', 'afterEach'] }] }],
    },
  },
);
