/**
 * The rules of eslint.config.mjs fire where they should: each case is a file that does not exist, with one line in it.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { ESLint } from 'eslint';
import { WITHOUT_TYPES } from '../../support/lint.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');

/** The real configuration; typed.test.ts tries the rules that need types. */
const eslint = new ESLint({ cwd: ROOT, overrideConfig: WITHOUT_TYPES });

async function rulesBroken(file: string, code: string): Promise<string[]> {
  const results = await eslint.lintText(`${code}\n`, { filePath: join(ROOT, file) });
  return results.flatMap(({ messages }) => messages).map(({ ruleId, message }) => ruleId ?? message);
}

const PATHS = 'rooms/arrows';
const PACKAGES = 'no-restricted-imports';

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
  ['src/shared/bad.ts', 'const unused = 1;\nexport const answer = 42;', '@typescript-eslint/no-unused-vars'],
  [
    'src/shared/bad.ts',
    "import { MAX } from './guard.ts';\nexport type A = typeof MAX;",
    '@typescript-eslint/consistent-type-imports',
  ],
  ['src/shared/bad.ts', 'export {};\n'.repeat(601), 'max-lines'],
  ['src/shared/bad.ts', 'export const size = (value: any): number => value;', '@typescript-eslint/no-explicit-any'],
  ['src/shared/bad.ts', '// @ts-ignore\nexport const size = 1;', '@typescript-eslint/ban-ts-comment'],
  ['src/shared/bad.ts', '// eslint-disable-next-line\nexport const answer: unknown = eval("1");', 'no-eval'],
  ['src/shared/bad.ts', '/* eslint no-eval: "off" */\nexport const answer: unknown = eval("1");', 'no-eval'],
  ['src/shared/bad.ts', '/* eslint-disable no-eval */\nexport const answer: unknown = eval("1");', 'no-eval'],
];

const ALLOWED: readonly (readonly [file: string, code: string])[] = [
  ['src/store/files/good.ts', "export * from 'better-sqlite3';\nexport * from '../../files/realFile.ts';"],
  ['src/runtime/good.ts', "export * from 'onnxruntime-node';"],
  [
    'src/extension/good.ts',
    "export * from 'vscode';\nexport * from '../store/read/reader.ts';\nexport * from '../domain/records.ts';\nexport * from 'node:path';",
  ],
  [
    'src/engine/good.ts',
    "export * from '../training/run.ts';\nexport * from '../store/write/writer.ts';\nexport * from 'node:path';",
  ],
  ['src/credit/good.ts', "export * from '../domain/records.ts';"],
  [
    'src/report/good.ts',
    "export type * from '../store/types.ts';\nexport * from '../credit/interval.ts';\nexport * from '../domain/records.ts';",
  ],
  ['src/extension/sharing/good.ts', "export * from '../../report/report.ts';"],
  ['src/report/beside.ts', "export * from './report.ts';\nexport const data = await import('../../media/data.json');"],
  ['src/engine/commandLine/good.ts', "export * from '../../report/report.ts';"],
  ['src/runtime/graph/ops/good.ts', "export type { Graph } from '../graph.ts';"],
  ['src/extension/dashboard/good.ts', "export type { Services } from '../services.ts';"],
  ['webview/transcript/good.ts', "export * from '../common/format.ts';\nexport * from '../../src/shared/guard.ts';"],
];

for (const [file, code, rule] of FORBIDDEN) {
  test(`${file} may not say: ${code.slice(0, 120).replaceAll('\n', ' ')}`, async () => {
    assert.ok((await rulesBroken(file, code)).includes(rule));
  });
}

for (const [file, code] of ALLOWED) {
  test(`${file} may say: ${code.replaceAll('\n', ' ')}`, async () => {
    assert.deepEqual(await rulesBroken(file, code), []);
  });
}
