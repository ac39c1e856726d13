/**
 * The rules of the house: strict types, the directions in which the rooms import, and what may not reach a token, a
 * page or a shell. Comments cannot switch a rule off. Editors run all of it here; test/support/lint.ts has the rules that
 * need types run by tsgolint, which is many times faster. test/unit/lint/rooms.test.ts refuses circles.
 */
import { globSync } from 'node:fs';
import { dirname, posix, relative, sep } from 'node:path';
import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';
import rooms from './rooms.json' with { type: 'json' };

/** Each folder with what it may import: its own row, or that of FOLDER/* for the folders in FOLDER without one. */
const ROOMS = Object.fromEntries(
  Object.entries(rooms).flatMap(([folder, entries]) =>
    folder.endsWith('/*')
      ? globSync(folder, { cwd: import.meta.dirname, withFileTypes: true })
          .filter((found) => found.isDirectory())
          .map(({ name }) => `${folder.slice(0, -1)}${name}`)
          .filter((found) => !Object.hasOwn(rooms, found))
          .map((found) => [found, entries])
      : [[folder, entries]],
  ),
);

/** Whether an entry of rooms.json names a file: FILE.ts, the files of a folder (FOLDER/*), or a folder with all in it. */
const names = (entry, file) =>
  entry.endsWith('.ts')
    ? entry === file
    : entry.endsWith('/*')
      ? posix.dirname(file) === entry.slice(0, -2)
      : file.startsWith(`${entry}/`);

/** The folder whose row holds for the files of a folder: itself, or the nearest around it. */
const rowOf = (folder, rows) =>
  Object.hasOwn(rows, folder) ? folder : folder === '.' ? undefined : rowOf(posix.dirname(folder), rows);

/** The text of a module's name; null for one that is computed. */
const textOf = (node) =>
  node.type === 'TemplateLiteral' && node.expressions.length === 0
    ? node.quasis[0].value.cooked
    : typeof node.value === 'string'
      ? node.value
      : null;

/** The arrows of rooms.json, by the text of an import alone: ours are relative and have their extension. */
const arrows = {
  meta: { type: 'problem', schema: [{ type: 'object' }] },
  create(context) {
    const [rows] = context.options;
    const folder = relative(import.meta.dirname, dirname(context.filename)).replaceAll(sep, '/');
    const row = rowOf(folder, rows);
    if (row === undefined) {
      return {};
    }
    const check = (node) => {
      const name = node === null || node === undefined ? null : textOf(node);
      const file = name?.startsWith('.') === true ? posix.join(folder, name) : null;
      if (file !== null && /^(?:src|webview|test)\//u.test(file)) {
        if (![`${row}/*`, ...rows[row]].some((entry) => names(entry, file))) {
          const allowed = rows[row].join(', ') || 'nothing else';
          const message = `${row} may import ${allowed} only; where another arrow is right, add it to rooms.json.`;
          context.report({ node, message });
        }
      }
    };
    return {
      'ImportDeclaration, ExportNamedDeclaration, ExportAllDeclaration, ImportExpression, TSImportType': ({ source }) =>
        check(source),
      TSExternalModuleReference: ({ expression }) => check(expression),
      'CallExpression[callee.name="require"]': (node) => check(node.arguments[0]),
    };
  },
};

/** Packages that one place only may import: elsewhere its room's own interface is the way. */
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
    plugins: { rooms: { rules: { arrows } } },
    rules: {
      'rooms/arrows': ['error', ROOMS],
      eqeqeq: 'error',
      curly: 'error',
      // Prettier breaks what it can; texts of programs stay whole.
      'max-len': [
        'error',
        { code: 120, ignoreStrings: true, ignoreTemplateLiterals: true, ignoreRegExpLiterals: true, ignoreUrls: true },
      ],
      'no-eval': 'error',
      'no-new-func': 'error',
      '@typescript-eslint/no-implied-eval': 'error',
      'no-restricted-properties': [
        'error',
        { object: 'Math', property: 'random', message: 'Use the counter-based generator of src/runtime/random.ts.' },
        ...['innerHTML', 'outerHTML', 'insertAdjacentHTML', 'createContextualFragment'].map((property) => ({
          property,
          message: 'Texts are never markup: use textContent.',
        })),
        { object: 'document', property: 'write', message: 'Texts are never markup: use textContent.' },
      ],
      'no-restricted-syntax': [
        'error',
        { selector: 'PrivateIdentifier', message: 'Private members are marked `private`, as everywhere here.' },
        {
          selector: 'TSAsExpression > TSAsExpression[typeAnnotation.type="TSUnknownKeyword"]',
          message: 'A cast through unknown hides a wrong type: check the value.',
        },
      ],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { ignoreRestSiblings: true }],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-unnecessary-condition': [
        'error',
        { allowConstantLoopConditions: 'only-allowed-literals' },
      ],
    },
  },
  imports(['src/**/*.ts', 'webview/**/*.ts']),
  ...['src/extension', 'src/store', 'src/runtime'].map((home) => imports([`${home}/**/*.ts`], home)),
  imports(['webview/common/toolkit.ts'], 'webview/common/toolkit.ts'),
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
  { files: ['src/**/*.ts', 'webview/**/*.ts'], rules: { 'max-lines': ['error', 600] } },
  {
    files: ['test/**/*.ts'],
    rules: {
      '@typescript-eslint/no-floating-promises': [
        'error',
        {
          allowForKnownSafeCalls: [
            {
              from: 'package',
              package: 'node:test',
              name: ['test', 'it', 'describe', 'suite', 'before', 'after', 'beforeEach', 'afterEach'],
            },
          ],
        },
      ],
    },
  },
);
