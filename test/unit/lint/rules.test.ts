/**
 * The rules of oxlint.config.ts that need no types fire where they should: each case is one file in a folder that has
 * the configuration of the tree. typed.test.ts tries those that need types.
 */

import assert from 'node:assert/strict';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import house, { TYPED } from '../../../oxlint.config.ts';
import { findSwitches, findUntypedFaults, type Fault } from '../../support/lint.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');

const PATHS = 'arrows';
const PACKAGES = 'no-restricted-imports';
/** Where no more than the rules of every file of the product holds. */
const ANY = 'src/engine/bad.ts';

const FORBIDDEN: readonly (readonly [file: string, code: string, rule: string])[] = [
  ['src/runtime/bad.ts', "export { StoreReader } from '../store/read/reader.ts';", PATHS],
  ['src/shared/bad.ts', "export * from '../runtime/random.ts';", PATHS],
  ['src/store/bad.ts', "export type { Estimator } from '../credit/estimators/loo.ts';", PATHS],
  ['src/tasks/bad.ts', "export * from '../evaluate/answer.ts';", PATHS],
  ['src/credit/bad.ts', "export type { StoreReader } from '../store/types.ts';", PATHS],
  ['src/replay/bad.ts', "export * from '../credit/compared.ts';", PATHS],
  ['src/runtime/graph/ops/bad.ts', "export type { TransformerConfig } from '../../model/transformer.ts';", PATHS],
  ['src/runtime/model/bad.ts', "export * from '../generate/generate.ts';", PATHS],
  ['src/extension/dashboard/bad.ts', "export * from '../transcript/transcriptPanels.ts';", PATHS],
  ['src/extension/transcript/bad.ts', "export * from '../../store/write/writer.ts';", PATHS],
  ['src/policy/bad.ts', "export * from '../replay/tree.ts';", PATHS],
  ['src/credit/bad.ts', "export * from '../diagnostics/taxonomy.ts';", PATHS],
  ['src/report/bad.ts', "export * from '../store/read/reader.ts';", PATHS],
  ['src/report/bad.ts', "export * from '../engine/commandLine/words.ts';", PATHS],
  ['src/report/bad.ts', "export * from '../files/newFile.ts';", PATHS],
  ['src/files/bad.ts', "export * from '../store/files/lock.ts';", PATHS],
  ['src/engine/bad.ts', "export * from '../extension/extension.ts';", PATHS],
  ['src/extension/bad.ts', "export * from '../engine/service.ts';", PATHS],
  ['src/extension/bad.ts', "export * from '../store/write/writer.ts';", PATHS],
  ['src/extension/bad.ts', "export * from '../../webview/common/format.ts';", PATHS],
  ['webview/transcript/bad.ts', "export * from '../dashboard/panel.ts';", PATHS],
  ['webview/common/bad.ts', "export * from '../../src/store/read/reader.ts';", PATHS],
  [
    'src/report/bad.ts',
    "import type { StoreReader } from '../store/read/reader.ts';\nexport type A = StoreReader;",
    PATHS,
  ],
  ['src/report/bad.ts', "export type Reader = import('../store/read/reader.ts').StoreReader;", PATHS],
  ['src/report/bad.ts', "export const reader = await import('../store/read/reader.ts');", PATHS],
  ['src/report/bad.ts', 'export const reader = await import(`../store/read/reader.ts`);', PATHS],
  ['src/report/bad.ts', "export const reader: unknown = require('../store/read/reader.ts');", PATHS],
  ['src/report/bad.ts', "import reader = require('../store/read/reader.ts');\nexport { reader };", PATHS],
  ['src/report/bad.ts', "export * from '../../test/support/tamper.ts';", PATHS],
  ['src/report/bad.ts', "export * from './../report/../store/read/reader.ts';", PATHS],
  ['src/evaluate/math/exact/deeper/bad.ts', "export * from '../../../answer.ts';", PATHS],
  ['src/engine/bad.ts', "export * from 'vscode';", PACKAGES],
  ['src/engine/bad.ts', "export * from 'better-sqlite3';", PACKAGES],
  ['src/engine/bad.ts', "export * from 'onnxruntime-node';", PACKAGES],
  ['src/extension/bad.ts', "export * from 'better-sqlite3';", PACKAGES],
  ['webview/transcript/bad.ts', "export * from '@vscode/webview-ui-toolkit';", PACKAGES],
  ['src/shared/bad.ts', "export * from 'node:path';", PACKAGES],
  ['src/credit/bad.ts', "export * from 'node:fs';", PACKAGES],
  ['src/diagnostics/bad.ts', "export * from 'node:fs/promises';", PACKAGES],
  ['src/report/bad.ts', "export * from 'node:fs';", PACKAGES],
  ['src/shared/bad.ts', 'export const width = window.innerWidth;', 'no-restricted-globals'],
  ['src/engine/bad.ts', 'export const chance = Math.random();', 'no-restricted-properties'],
  [
    'webview/common/bad.ts',
    "export const draw = (element: Element): void => { element.innerHTML = ''; };",
    'no-restricted-properties',
  ],
  ['src/evaluate/bad.ts', "export const answer: unknown = eval('1');", 'no-eval'],
  ['src/evaluate/bad.ts', "export const work = new Function('1');", 'no-new-func'],
  ['src/shared/bad.ts', 'export const size = {} as unknown as number;', 'no-restricted-syntax'],
  ['src/shared/bad.ts', 'export class Counter {\n  #count = 0;\n}', 'no-restricted-syntax'],
  [
    'src/shared/bad.ts',
    'export const sign = (n: number): number => {\n  if (n < 0) return -1;\n  return 1;\n};',
    'curly',
  ],
  ['src/shared/bad.ts', `// ${'wide '.repeat(30)}\nexport const answer = 42;`, 'max-len'],
  ['src/shared/bad.ts', 'export const none = (value: unknown): boolean => value == 1;', 'eqeqeq'],
  ['src/shared/bad.ts', 'const unused = 1;\nexport const answer = 42;', 'no-unused-vars'],
  ['src/shared/bad.ts', "import { MAX } from './guard.ts';\nexport type A = typeof MAX;", 'consistent-type-imports'],
  ['src/shared/bad.ts', 'export {};\n'.repeat(601), 'max-lines'],
  ['src/shared/bad.ts', 'export const size = (value: any): number => value;', 'no-explicit-any'],
  ['src/shared/bad.ts', '// @ts-ignore\nexport const size = 1;', 'ban-ts-comment'],
  [ANY, "import type { Uri } from 'vscode';\nexport type A = Uri;", PACKAGES],
  [ANY, "export * from 'vscode/more';", PACKAGES],
  [ANY, "export const api = await import('vscode');", PACKAGES],
  ['webview/transcript/bad.ts', "export * from 'node:fs';", PACKAGES],
  ['webview/common/toolkit.ts', "export * from 'node:fs';", PACKAGES],
  ['src/store/bad.ts', "export * from 'onnxruntime-node';", PACKAGES],
  ...['document', 'navigator', 'localStorage', 'HTMLElement', 'customElements', 'location'].map(
    (name): [string, string, string] => [ANY, `export const of: unknown = ${name};`, 'no-restricted-globals'],
  ),
  [ANY, 'const { random } = Math;\nexport const chance = random();', 'no-restricted-properties'],
  [ANY, "export const chance: unknown = Math['random'];", 'no-restricted-properties'],
  ...['innerHTML', 'outerHTML', 'insertAdjacentHTML', 'createContextualFragment'].flatMap(
    (name): [string, string, string][] => [
      ['webview/common/bad.ts', `export const of = (page: any): unknown => page?.${name};`, 'no-restricted-properties'],
      [
        'webview/common/bad.ts',
        `export const of = ({ ${name} }: any): unknown => ${name};`,
        'no-restricted-properties',
      ],
    ],
  ),
  ['webview/common/bad.ts', "document.write('a');", 'no-restricted-properties'],
  [ANY, "export const answer: unknown = (0, eval)('1');", 'no-eval'],
  [ANY, "export const answer: unknown = globalThis.eval('1');", 'no-eval'],
  [ANY, "export const work = Function('1');", 'no-new-func'],
  [ANY, "export const work = Function.apply(null, ['1']);", 'no-new-func'],
  [ANY, 'export class Counter {\n  count = 0;\n  #add(): void { this.count++; }\n}', 'no-restricted-syntax'],
  [ANY, 'export const size = ({} as unknown) as number;', 'no-restricted-syntax'],
  [ANY, 'export const drop = (of: any, key: string): void => { delete of[key]; };', 'no-restricted-syntax'],
  [ANY, 'export const drop = (of: any, key: string): void => { delete (of.all[`a${key}`]); };', 'no-restricted-syntax'],
  [ANY, 'export class Empty {}', 'no-restricted-syntax'],
  [ANY, 'export const Empty = class {};', 'no-restricted-syntax'],
  [ANY, 'export class Names {\n  static a = 1;\n  static b(): void { console.log(1); }\n}', 'no-restricted-syntax'],
  [ANY, 'export class Start {\n  static a = 1;\n  constructor() { console.log(1); }\n}', 'no-restricted-syntax'],
  [ANY, 'export const run = (on: boolean): void => { while (on) run(on); };', 'curly'],
  [ANY, 'export const run = (on: boolean): void => { if (on) { run(on); } else run(on); };', 'curly'],
  [ANY, 'export const run = (all: number[]): void => { for (const one of all) run([one]); };', 'curly'],
  [ANY, 'export const none = (value: unknown): boolean => value != null;', 'eqeqeq'],
  [ANY, `export const ${'wide'.repeat(30)} = 1;`, 'max-len'],
  [ANY, `export const a = 1; // '${'wide '.repeat(30)}'`, 'max-len'],
  [ANY, 'var count = 1;\nexport const answer = count;', 'no-var'],
  [ANY, 'let count = 1;\nexport const answer = count;', 'prefer-const'],
  [ANY, 'let { a, b } = { a: 1, b: 2 };\nb = 3;\nexport const answer = a + b;', 'prefer-const'],
  [ANY, 'export function size(): unknown { return arguments[0]; }', 'prefer-rest-params'],
  [ANY, 'export const most = (all: number[]): number => Math.max.apply(Math, all);', 'prefer-spread'],
  [ANY, '// @ts-nocheck\nexport const size = 1;', 'ban-ts-comment'],
  [ANY, '// @ts-expect-error short\nexport const size: number = "a";', 'ban-ts-comment'],
  [ANY, 'export const all = new Array(1, 2);', 'no-array-constructor'],
  [ANY, 'export enum Kind { A = 1, B = 1 }', 'no-duplicate-enum-values'],
  [ANY, 'export type A = {};', 'no-empty-object-type'],
  [ANY, 'export interface A extends Date {}', 'no-empty-object-type'],
  [ANY, 'export const size = (of?: { a: number }): unknown => of!!.a;', 'no-extra-non-null-assertion'],
  [ANY, 'export const none: void = undefined;', 'no-invalid-void-type'],
  [ANY, 'export type A = void | number;', 'no-invalid-void-type'],
  [ANY, 'export interface A { new (): A }', 'no-misused-new'],
  [ANY, 'namespace A { export const a = 1; }\nexport { A };', 'no-namespace'],
  [ANY, 'export const a = (of: { c?: number }): number => of.c! ?? 1;', 'no-non-null-asserted-nullish-coalescing'],
  [ANY, 'export const a = (of?: { c?: number }): unknown => of?.c!;', 'no-non-null-asserted-optional-chain'],
  [ANY, 'export const a = (of?: number[]): unknown => of![0];', 'no-non-null-assertion'],
  [ANY, "export const a: unknown = require('node:fs');", 'no-require-imports'],
  [ANY, "import fs = require('node:fs');\nexport { fs };", 'no-require-imports'],
  [ANY, 'export class A { a = 1; f(): unknown { const that = this; return that; } }', 'no-this-alias'],
  [ANY, 'export const same = <T extends unknown>(of: T): T => of;', 'no-unnecessary-type-constraint'],
  [ANY, 'export interface A { a: 1 }\nexport class A { b = 1; }', 'no-unsafe-declaration-merging'],
  [ANY, 'export const call = (work: Function): unknown => work;', 'no-unsafe-function-type'],
  [ANY, 'export const run = (a: () => boolean, b: () => void): void => { a() && b(); };', 'no-unused-expressions'],
  [ANY, 'export const run = (a: boolean, b: () => void): void => { a ? b() : b(); };', 'no-unused-expressions'],
  [ANY, 'export const one = (_size: number): number => 1;', 'no-unused-vars'],
  [ANY, 'try { console.log(1); } catch (_error) { console.log(2); }', 'no-unused-vars'],
  [ANY, 'const [_a, b] = [1, 2];\nexport { b };', 'no-unused-vars'],
  [ANY, 'let size = 1;\nsize = 2;', 'no-unused-vars'],
  [ANY, "import type { A } from './a.ts';", 'no-unused-vars'],
  [ANY, 'type A = 1;', 'no-unused-vars'],
  [ANY, "const KINDS = ['a', 'b'] as const;\nexport type Kind = (typeof KINDS)[number];", 'no-type-only-values'],
  [ANY, 'const point = { place: { x: 1 } };\nexport type Place = typeof point.place;', 'no-type-only-values'],
  [ANY, 'function one(): number { return 1; }\nexport type One = ReturnType<typeof one>;', 'no-type-only-values'],
  [ANY, 'export class A { a = 1; constructor() {} }', 'no-useless-constructor'],
  [ANY, "export const name: String = 'a';", 'no-wrapper-object-types'],
  [ANY, "export const name = 'a' as 'a';", 'prefer-as-const'],
  [ANY, "export enum Kind { A = 'a'.length }", 'prefer-literal-enum-member'],
  [ANY, 'module A { export const a = 1; }\nexport { A };', 'prefer-namespace-keyword'],
  [ANY, '/// <reference path="a.d.ts" />\nexport {};', 'triple-slash-reference'],
  [ANY, 'export interface A { f(a: number): void; f(a: string): void }', 'unified-signatures'],
  [ANY, "import { Kind } from './a.ts';\nexport const of = (kind: Kind): Kind => kind;", 'consistent-type-imports'],
  ['webview/common/bad.ts', 'export {};\n'.repeat(601), 'max-lines'],
  [ANY, 'export const all = [1;', 'syntax'],
  [ANY, '// eslint-disable-next-line\nexport const answer: unknown = eval("1");', 'no-eval'],
  [ANY, '/* eslint no-eval: "off" */\nexport const answer: unknown = eval("1");', 'no-eval'],
  [ANY, '/* eslint-disable no-eval */\nexport const answer: unknown = eval("1");', 'no-eval'],
  [ANY, 'export const answer: unknown = eval("1"); // eslint-disable-line', 'no-eval'],
];

const ALLOWED: readonly (readonly [file: string, code: string])[] = [
  ['src/store/files/good.ts', "export * from 'better-sqlite3';\nexport * from '../../files/realFile.ts';"],
  ['src/runtime/good.ts', "export * from 'onnxruntime-node';"],
  [
    'src/extension/good.ts',
    "export * from 'vscode';\nexport * from '../store/read/reader.ts';\nexport * from '../domain/run.ts';\nexport * from 'node:path';",
  ],
  [
    'src/engine/good.ts',
    "export * from '../training/run.ts';\nexport * from '../store/write/writer.ts';\nexport * from 'node:path';",
  ],
  ['src/credit/good.ts', "export * from '../domain/run.ts';"],
  [
    'src/report/good.ts',
    "export type * from '../store/types.ts';\nexport * from '../credit/interval.ts';\nexport * from '../domain/run.ts';",
  ],
  ['src/extension/sharing/good.ts', "export * from '../../report/report.ts';"],
  ['src/report/beside.ts', "export * from './report.ts';\nexport const data = await import('../../media/data.json');"],
  ['src/engine/commandLine/good.ts', "export * from '../../report/report.ts';"],
  ['src/runtime/graph/ops/good.ts', "export type { Graph } from '../graph.ts';"],
  ['src/extension/dashboard/good.ts', "export type { Services } from '../services.ts';"],
  ['webview/transcript/good.ts', "export * from '../common/format.ts';\nexport * from '../../src/shared/guard.ts';"],
  ['webview/common/toolkit.ts', "export * from '@vscode/webview-ui-toolkit';"],
  ['src/engine/good.ts', "export * from 'vscode-jsonrpc';"],
  ['src/engine/good.ts', 'export const of = (document: string): string => document;'],
  ['webview/common/good.ts', 'export const wide: number = window.innerWidth;'],
  ['src/engine/good.ts', '// @ts-expect-error because of what it says\nexport const size: number = "a";'],
  ['src/engine/good.ts', 'const { a, ...rest } = { a: 1, b: 2 };\nexport { rest };'],
  ['src/engine/good.ts', 'export const second = (first: number, next: number): number => next;'],
  ['src/engine/good.ts', 'export const drop = (of: { a?: number }): void => { delete of["a"]; };'],
  ['src/engine/good.ts', 'export class Late extends Error {}\nexport abstract class Box { abstract size: number; }'],
  ['src/engine/good.ts', 'export class Box { readonly size = 1; }'],
  ['src/engine/good.ts', 'export const KINDS = ["a"] as const;\nexport type Kind = (typeof KINDS)[number];'],
  ['src/engine/good.ts', 'const kinds = ["a"] as const;\nexport type Kind = typeof kinds;\nexport { kinds };'],
  ['src/engine/good.ts', `export const text = '${'wide '.repeat(30)}';\nexport const name = /${'wide'.repeat(30)}/u;`],
  ['src/engine/good.ts', `export const text = \`\n${'wide '.repeat(30)}\n\`;\n// https://${'wide'.repeat(30)}`],
  ['src/engine/good.ts', `// ${'😀'.repeat(117)}\nexport {};`],
  ['src/engine/good.ts', 'export {};\n'.repeat(599)],
  ['test/unit/good.ts', 'export {};\n'.repeat(601)],
];

/** The rules of the house that need no types, by their own names. */
const RULES = [house, ...(house.overrides ?? [])]
  .flatMap(({ rules = {} }) => Object.keys(rules))
  .filter((rule) => !Object.hasOwn(TYPED, rule.replace('typescript/', '')))
  .map((rule) => rule.slice(rule.indexOf('/') + 1));

type Case = readonly [file: string, code: string, rule?: string];
const SETS: Readonly<Record<'forbidden' | 'allowed', readonly Case[]>> = { forbidden: FORBIDDEN, allowed: ALLOWED };
let folder = '';
const found: Fault[] = [];

/** The file of a case: others may stand beside it. */
const fileOf = (set: keyof typeof SETS, index: number): string =>
  join(folder, set, (SETS[set][index]?.[0] ?? '').replace(/(?<=bad|good)/u, String(index)));

const rulesBroken = (set: keyof typeof SETS, index: number): string[] =>
  found.filter(({ file }) => file === fileOf(set, index)).map(({ rule }) => rule);

before(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'c3-lint-')));
  const config = pathToFileURL(join(ROOT, 'oxlint.config.ts')).href;
  for (const set of ['forbidden', 'allowed'] as const) {
    for (const [index, [, code]] of SETS[set].entries()) {
      await mkdir(dirname(fileOf(set, index)), { recursive: true });
      await writeFile(fileOf(set, index), `${code}\n`);
    }
    await writeFile(join(folder, set, 'oxlint.config.ts'), `export { default } from '${config}';\n`);
    found.push(...(await findUntypedFaults(join(folder, set))));
  }
});

after(async () => await rm(folder, { recursive: true, force: true }));

test('every rule that needs no types has code here that breaks it', () => {
  const broken = new Set(FORBIDDEN.map(([, , rule]) => rule));
  assert.deepEqual(
    RULES.filter((rule) => !broken.has(rule)),
    [],
  );
});

for (const [index, [file, code, rule]] of FORBIDDEN.entries()) {
  test(`${file} may not say: ${code.slice(0, 120).replaceAll('\n', ' ')}`, () => {
    const broken = rulesBroken('forbidden', index);
    assert.ok(broken.includes(rule), broken.join(', '));
  });
}

for (const [index, [file, code]] of ALLOWED.entries()) {
  test(`${file} may say: ${code.slice(0, 120).replaceAll('\n', ' ')}`, () =>
    assert.deepEqual(rulesBroken('allowed', index), []));
}

test('a comment that would switch a rule off is found', async () => {
  const off = ['oxlint', 'disable-next-line'].join('-');
  const file = join(folder, 'off.ts');
  await writeFile(file, `export const size = 1;\n// ${off} no-eval\n`);
  assert.deepEqual(
    (await findSwitches([file, fileOf('allowed', 0)])).map((fault) => [fault.file, fault.line]),
    [[file, 2]],
  );
});

test('a configuration that oxlint cannot read is an error', async () => {
  const broken = join(folder, 'broken');
  await mkdir(broken);
  await writeFile(join(broken, 'oxlint.config.ts'), "export default { rules: { 'no-such-rule': 'error' } };\n");
  await assert.rejects(findUntypedFaults(broken), /no-such-rule/u);
});
