/**
 * The rules that need types fire as oxlint.config.ts has them: one file for each rule, and
 * what they shall leave alone. Errors of types are found by the same program.
 */

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { TYPED, TYPED_OF_TESTS } from '../../../oxlint.config.ts';
import { findTypedFaults, type Fault } from '../../support/lint.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');

/** Each rule with code that breaks it. */
const BROKEN: Readonly<Record<string, string>> = {
  'await-thenable': 'export const run = async (): Promise<void> => { await 1; };',
  'no-array-delete': 'export const drop = (list: number[]): void => { delete list[0]; };',
  'no-base-to-string': 'export const said = (value: { a: number }): string => String(value);',
  'no-confusing-void-expression': 'export const log = (): number => { const a = console.log(1); return a ? 1 : 2; };',
  'no-deprecated': '/** @deprecated */\nconst old = 1;\nexport const copy = old;',
  'no-duplicate-type-constituents': 'export type Name = "a" | "b" | "a";',
  'no-floating-promises': 'export const run = (work: () => Promise<void>): void => { work(); };',
  'no-for-in-array': 'export const all = (list: number[]): void => { for (const at in list) { console.log(at); } };',
  'no-generated-empty-object-type': 'export type Rest = Omit<{ a: number }, "a">;\nexport const rest: Rest = 1;',
  'no-implied-eval': 'export const later = (): void => { setTimeout("work()", 1); };',
  'no-meaningless-void-operator': 'export const run = (work: () => void): void => { void work(); };',
  'no-misused-promises': 'export const pick = (work: Promise<boolean>): number => (work ? 1 : 2);',
  'no-misused-spread': 'export const copy = (map: Map<string, number>): object => ({ ...map });',
  'no-mixed-enums': 'export enum Mixed {\n  A = 1,\n  B = "b",\n}',
  'no-redundant-type-constituents': 'export type Name = string | "a";',
  'no-unnecessary-boolean-literal-compare': 'export const is = (on: boolean): number => (on === true ? 1 : 2);',
  'no-unnecessary-condition': 'export const size = (list: number[]): number => list?.length;',
  'no-unnecessary-template-expression': 'export const name = (first: string): string => `${first}`;',
  'no-unnecessary-type-arguments': 'declare function make<T = number>(): T;\nexport const made = make<number>();',
  'no-unnecessary-type-assertion': 'export const same = (size: number): number => size as number;',
  'no-unnecessary-type-conversion': 'export const same = (name: string): string => String(name);',
  'no-unnecessary-type-parameters': 'export function print<T>(value: T): void { console.log(value); }',
  'no-unsafe-argument': 'export const size = (value: any): number => Math.abs(value);',
  'no-unsafe-assignment': 'export const copy = (value: any): void => { const a = value; console.log(typeof a); };',
  'no-unsafe-call': 'export const call = (value: any): void => { value(); };',
  'no-unsafe-class-instance-assignment':
    'export class Point { x = 1; }\nexport const point = (): Point => { const a: Point = { x: 2 }; return a; };',
  'no-unsafe-enum-assignment': 'export enum Kind { A, B }\nexport const kind: Kind = 1;',
  'no-unsafe-enum-comparison': 'export enum Kind { A, B }\nexport const is = (kind: Kind): boolean => kind === 1;',
  'no-unsafe-member-access': 'export const size = (value: any): void => { console.log(typeof value.size); };',
  'no-unsafe-return': 'export const copy = (value: any): number => { return value; };',
  'no-unsafe-unary-minus': 'export const less = (name: string): number => -name;',
  'no-useless-default-assignment': 'export const first = [1, 2].map((value = 0) => value);',
  'only-throw-error': 'export const fail = (): never => { throw "no"; };',
  'prefer-promise-reject-errors': 'export const fail = (): Promise<never> => Promise.reject("no");',
  'prefer-reduce-type-parameter': 'export const all = [1].reduce((sum, x) => sum.concat(x), [] as number[]);',
  'prefer-return-this-type': 'export class Chain { next(): Chain { return this; } }',
  'related-getter-setter-pairs': 'export interface Box { get value(): string; set value(next: number); }',
  'require-await': 'export const one = async (): Promise<number> => { return 1; };',
  'restrict-plus-operands': 'export const both = (a: number, b: string): string => a + b;',
  'restrict-template-expressions': 'export const said = (value: object): string => `value: ${value}`;',
  'return-await':
    'export async function read(work: () => Promise<number>): Promise<number> {\n  try { return work(); } catch { return 0; }\n}',
  'switch-exhaustiveness-check':
    'export const run = (kind: "a" | "b"): void => { switch (kind) { case "a": console.log(1); } };',
  'unbound-method': 'export const now = (date: Date): (() => number) => date.getTime;',
  'use-unknown-in-catch-callback-variable':
    'export const run = (work: Promise<void>): Promise<void> => work.catch((error: Error) => { console.log(error.message); });',
};

/** What the options in oxlint.config.ts allow. */
const FINE: Readonly<Record<string, string>> = {
  'a number in a template': 'export const said = (size: number): string => `size: ${size}`;',
  'a short arrow without a value': 'export const log = (text: string): void => console.log(text);',
  'a loop without an end':
    'export const wait = (done: () => boolean): void => { while (true) { if (done()) { return; } } };',
  'a default for the rest of a union':
    'export const run = (kind: "a" | "b"): void => { switch (kind) { case "a": console.log(1); break; default: console.log(2); } };',
  'a test that nobody awaits': "import { test } from 'node:test';\n\ntest('works', () => { console.log(1); });",
  'a promise that is void': 'export const run = (work: () => Promise<void>): void => { void work(); };',
};

/** Code with an error of types, and its number. */
const WRONG: Readonly<Record<string, string>> = {
  TS2322: 'export const size: number = "a";',
  TS2339: 'export const size = (list: number[]): unknown => list.size;',
  TS6133: 'export const size = (list: number[]): number => { const unused = list; return 1; };',
  TS2532: 'export const first = (list: readonly number[][]): number => list[0].length;',
  TS2375:
    'export const box = (size: number | undefined): { size?: number } => { const a: { size?: number } = { size }; return a; };',
  TS1294: 'export enum Kind { A }',
  TS4111: 'export const of = (rows: Record<string, number>): number | undefined => rows.name;',
  TS1484: "import { SocketConstructorOpts } from 'node:net';\n\nexport const options: SocketConstructorOpts = {};",
  TS2307: "export * from './missing.ts';",
  TS7006: 'export const same = (value) => value;',
  TS7030: 'export const sign = (size: number): number | undefined => { if (size > 0) { return 1; } };',
  TS1005: 'export const size = [1;',
};

const SETS = { broken: BROKEN, fine: FINE, wrong: WRONG };
let folder = '';
let rules: Fault[] = [];
let types: Fault[] = [];

/** Whether a problem is one of types, by the name of its rule. */
const isOfTypes = (rule: string): boolean => /^TS\d+$/u.test(rule);

const fileOf = (set: keyof typeof SETS, name: string): string =>
  join(folder, `${set}-${Object.keys(SETS[set]).indexOf(name)}.ts`);

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'c3-lint-'));
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  const config = { extends: join(ROOT, 'tsconfig.json'), include: ['.'] };
  const typeRoots = [join(ROOT, 'node_modules', '@types')];
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ ...config, compilerOptions: { typeRoots } }));
  for (const set of ['broken', 'fine', 'wrong'] as const) {
    for (const [name, code] of Object.entries(SETS[set])) {
      await writeFile(fileOf(set, name), `${code}\n`);
    }
  }
  const filesOf = (set: keyof typeof SETS): string[] => Object.keys(SETS[set]).map((name) => fileOf(set, name));
  const found = await findTypedFaults(
    [
      { files: [...filesOf('broken'), ...filesOf('fine')], rules: { ...TYPED, ...TYPED_OF_TESTS } },
      { files: filesOf('wrong'), rules: {} },
    ],
    true,
  );
  rules = found.filter(({ rule }) => !isOfTypes(rule));
  types = found.filter(({ rule }) => isOfTypes(rule));
});

after(async () => await rm(folder, { recursive: true, force: true }));

test('every rule that needs types has code here that breaks it', () =>
  assert.deepEqual(Object.keys(TYPED).sort(), Object.keys(BROKEN).sort()));

for (const [rule, code] of Object.entries(BROKEN)) {
  test(`${rule} refuses: ${code.replaceAll('\n', ' ')}`, () => {
    const found = rules.filter(({ file }) => file === fileOf('broken', rule)).map((fault) => fault.rule);
    assert.ok(found.includes(rule), found.join(', '));
  });
}

for (const [what, code] of Object.entries(FINE)) {
  test(`${what} is fine: ${code.replaceAll('\n', ' ')}`, () => {
    assert.deepEqual(
      rules.filter(({ file }) => file === fileOf('fine', what)),
      [],
    );
  });
}

for (const [number, code] of Object.entries(WRONG)) {
  test(`${number} is found in: ${code.replaceAll('\n', ' ')}`, () => {
    const found = types.filter(({ file }) => file === fileOf('wrong', number)).map(({ rule }) => rule);
    assert.ok(found.includes(number), found.join(', '));
  });
}

test('a problem is said with its line and column, in characters', async () => {
  const file = join(folder, 'place.ts');
  await writeFile(file, "export const word = 'ä→';\nexport const name: number = 'ö', size: number = 'b';\n");
  const [first, second] = await findTypedFaults([{ files: [file], rules: {} }], true);
  assert.deepEqual([first?.line, first?.column], [2, 14]);
  assert.deepEqual([second?.line, second?.column], [2, 34]);
});

test('a rule that tsgolint does not know is an error', async () => {
  const file = join(folder, 'unknown.ts');
  await writeFile(file, 'export const size = 1;\n');
  await assert.rejects(findTypedFaults([{ files: [file], rules: { 'no-such-rule': null } }], false), /no-such-rule/);
});
