/**
 * Types and rules of the whole tree: node test/support/lint.ts [types|rules] [--cache]
 *
 * The rules are those of eslint.config.mjs. Those that need no types ESLint runs; with `--cache` it keeps what it found
 * of unchanged files. Those that need types, and the check of types, tsgolint runs at once: the rules of
 * typescript-eslint on the native TypeScript, in a fifth of the time. Without an argument, both are checked.
 */
import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, relative, resolve } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { ESLint, type Linter } from 'eslint';
import tseslint from 'typescript-eslint';
import { z } from 'zod';

const ROOT = join(import.meta.dirname, '..', '..');
const PREFIX = '@typescript-eslint/';

/** What leaves the rules that need types to tsgolint. */
export const WITHOUT_TYPES: Linter.Config[] = [
  { files: ['**/*.ts'], rules: tseslint.configs.disableTypeChecked.rules ?? {} },
  { files: ['**/*.ts'], languageOptions: { parserOptions: { project: null, jsDocParsingMode: 'none' } } },
];

const TYPED = new Set(Object.keys(tseslint.configs.disableTypeChecked.rules ?? {}));

/** A rule of typescript-eslint without its prefix, as tsgolint names it, with its options. */
export interface TypedRule {
  readonly name: string;
  readonly options?: unknown;
}

/** Files that have the same rules. */
export interface TypedFiles {
  readonly files: readonly string[];
  readonly rules: readonly TypedRule[];
}

/** What is wrong at one place; `rule` is null for an error of types. Lines and columns count from 1. */
export interface Problem {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly rule: string | null;
  /** Of an error of types: TS2322 and so on. */
  readonly id: string;
  readonly message: string;
}

const configSchema = z.object({ rules: z.record(z.string(), z.tuple([z.number()], z.unknown())) });

const house = new ESLint({ cwd: ROOT });

/** The rules of a file that need types, as eslint.config.mjs has them. */
export async function typedRulesOf(file: string): Promise<TypedRule[]> {
  const { rules } = configSchema.parse(await house.calculateConfigForFile(file));
  return Object.entries(rules)
    .filter(([name, [severity]]) => severity > 0 && TYPED.has(name))
    .map(([name, [, options]]) => ({ name: name.slice(PREFIX.length), ...(options === undefined ? {} : { options }) }));
}

/** The TypeScript files of the tree, those with the same rules together. */
async function typedFiles(): Promise<TypedFiles[]> {
  const groups = new Map<string, { readonly files: string[]; readonly rules: TypedRule[] }>();
  for (const name of globSync('{src,webview,test}/**/*.ts', { cwd: ROOT })) {
    const file = join(ROOT, name);
    const rules = await typedRulesOf(file);
    const key = JSON.stringify(rules);
    const group = groups.get(key) ?? { files: [], rules };
    group.files.push(file);
    groups.set(key, group);
  }
  return [...groups.values()];
}

const diagnosticSchema = z.object({
  range: z.object({ pos: z.number() }).optional(),
  rule: z.string().optional(),
  message: z.object({ id: z.string(), description: z.string(), help: z.string().optional() }),
  file_path: z.string().nullish(),
});
const errorSchema = z.object({ error: z.string() });

/** A message of tsgolint is its length (4 bytes), its kind (1 byte), and JSON. */
const HEADER = 5;
const KIND_ERROR = 0;
const KIND_DIAGNOSTIC = 1;

/** Garbage is collected seldom: a third less processor time than with Go's own 100 %, below a limit of memory. */
const MEMORY = { GOGC: '400', GOMEMLIMIT: '3GiB' };

/** The file that tsgolint is on this machine. */
function tsgolint(): string {
  const require = createRequire(createRequire(import.meta.url).resolve('oxlint-tsgolint/package.json'));
  const name = `tsgolint${process.platform === 'win32' ? '.exe' : ''}`;
  return require.resolve(`@oxlint-tsgolint/${process.platform}-${process.arch}/${name}`);
}

/**
 * What tsgolint finds in files; the nearest tsconfig.json above each says how they are compiled.
 * @throws Error when it does not know a rule, or fails
 */
export async function typedProblems(groups: readonly TypedFiles[], types: boolean): Promise<Problem[]> {
  const env = { ...MEMORY, ...process.env };
  const child = spawn(tsgolint(), ['headless'], { cwd: ROOT, env, stdio: ['pipe', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((done, failed) => {
    child.on('error', failed);
    child.on('close', done);
  });
  child.stdin.end(
    JSON.stringify({
      version: 2,
      configs: groups.map(({ files, rules }) => ({ file_paths: files, rules })),
      report_syntactic: types,
      report_semantic: types,
    }),
  );
  const [output, errors, code] = await Promise.all([buffer(child.stdout), text(child.stderr), ended]);
  if (code !== 0) {
    throw new Error(`tsgolint ended with code ${String(code)}.\n${output.toString('utf8')}\n${errors}`.trim());
  }
  const problems: Promise<Problem>[] = [];
  for (let start = 0; start < output.length;) {
    const end = start + HEADER + output.readUInt32LE(start);
    const kind = output.readUInt8(start + HEADER - 1);
    const message: unknown = JSON.parse(output.toString('utf8', start + HEADER, end));
    if (kind === KIND_ERROR) {
      throw new Error(`tsgolint failed: ${errorSchema.parse(message).error}`);
    }
    if (kind === KIND_DIAGNOSTIC) {
      problems.push(problemOf(diagnosticSchema.parse(message)));
    }
    start = end;
  }
  return Promise.all(problems);
}

async function problemOf({
  range,
  rule,
  message,
  file_path: path,
}: z.infer<typeof diagnosticSchema>): Promise<Problem> {
  const file = resolve(ROOT, path ?? 'tsconfig.json');
  // Positions count bytes of UTF-8.
  const before = (await readFile(file)).toString('utf8', 0, range?.pos ?? 0).split('\n');
  return {
    file,
    line: before.length,
    column: (before.at(-1)?.length ?? 0) + 1,
    rule: rule === undefined ? null : `${PREFIX}${rule}`,
    id: message.id,
    message: [message.description, message.help ?? ''].join('\n').trim(),
  };
}

/** Problems as ESLint has them. */
function asResults(problems: readonly Problem[]): ESLint.LintResult[] {
  const files = Map.groupBy(problems, ({ file }) => file);
  return [...files].map(([filePath, found]) => ({
    filePath,
    messages: found.map(({ line, column, rule, message }) => ({ line, column, ruleId: rule, message, severity: 2 })),
    suppressedMessages: [],
    errorCount: found.length,
    fatalErrorCount: 0,
    warningCount: 0,
    fixableErrorCount: 0,
    fixableWarningCount: 0,
    usedDeprecatedRules: [],
  }));
}

/** An error of types, as tsc says it. */
const typeError = ({ file, line, column, id, message }: Problem): string =>
  `${relative(ROOT, file)}(${String(line)},${String(column)}): error ${id}: ${message}`;

/** All that is wrong with types and rules, as text; empty where nothing is. */
async function checked(what: { types: boolean; rules: boolean; cache: boolean }): Promise<string> {
  const groups = await typedFiles();
  const typed = typedProblems(what.rules ? groups : groups.map(({ files }) => ({ files, rules: [] })), what.types);
  const eslint = new ESLint({ cwd: ROOT, overrideConfig: WITHOUT_TYPES, cache: what.cache });
  const untyped = what.rules ? await eslint.lintFiles(['.']) : [];
  const problems = await typed;
  const known = new Set(groups.flatMap(({ files }) => files));
  const outside = untyped.map(({ filePath }) => filePath).filter((file) => file.endsWith('.ts') && !known.has(file));
  const formatter = await eslint.loadFormatter('stylish');
  const said = [
    ...outside.map((file) => `${relative(ROOT, file)} lies in no folder whose types are checked.`),
    ...problems.filter(({ rule }) => rule === null).map(typeError),
    await formatter.format([...untyped, ...asResults(problems.filter(({ rule }) => rule !== null))]),
  ];
  return said.filter((line) => line !== '').join('\n');
}

if (import.meta.main) {
  const [asked] = process.argv.slice(2).filter((argument) => !argument.startsWith('-'));
  const said = await checked({
    types: asked !== 'rules',
    rules: asked !== 'types',
    cache: process.argv.includes('--cache'),
  });
  if (said !== '') {
    console.log(said);
    process.exitCode = 1;
  }
}
