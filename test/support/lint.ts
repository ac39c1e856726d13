/**
 * Types and rules of the whole tree: node test/support/lint.ts [types|rules]
 *
 * The rules are those of oxlint.config.ts. oxlint runs those that need no types. Those that need types, and the check
 * of types, tsgolint runs at once, on the native TypeScript. It is asked here, since oxlint does not know all of its
 * rules. Without an argument, both are checked.
 */
import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { z } from 'zod';
import { TYPED, TYPED_OF_TESTS, type TypedRules } from '../../oxlint.config.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const require = createRequire(import.meta.url);

/** Files that have the same rules. */
export interface TypedFiles {
  readonly files: readonly string[];
  readonly rules: TypedRules;
}

/** What is wrong at one place; of an error of types `rule` is TS2322 and so on. Lines and columns count from 1. */
export interface Fault {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly rule: string;
  readonly message: string;
}

/** What switches a rule off in a comment. A rule could not refuse it: it would be off itself. */
const SWITCH = /oxlint-(?:disable|enable)/u;

/** The TypeScript files of the tree: those of tsconfig.json. */
const filesOf = (pattern: string): string[] =>
  globSync(pattern, { cwd: ROOT, exclude: ['dist', 'node_modules', 'test/artifacts'] }).map((file) => join(ROOT, file));

interface Ended {
  readonly code: number | null;
  readonly output: Buffer;
  readonly errors: string;
}

/** Runs a program in a folder, with a text as its input. */
async function run(
  program: string,
  args: readonly string[],
  cwd: string,
  input = '',
  env = process.env,
): Promise<Ended> {
  const child = spawn(program, args, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((done, failed) => {
    child.on('error', failed);
    child.on('close', done);
  });
  child.stdin.end(input);
  const [output, errors, code] = await Promise.all([buffer(child.stdout), text(child.stderr), ended]);
  return { code, output, errors };
}

const untypedSchema = z.object({
  diagnostics: z.array(
    z.object({
      message: z.string(),
      help: z.string().optional(),
      code: z.string().optional(),
      filename: z.string(),
      labels: z.array(z.object({ span: z.object({ line: z.number(), column: z.number() }) })),
    }),
  ),
});

/**
 * What oxlint finds in a folder with an oxlint.config.ts.
 * @throws Error when it cannot read its configuration
 */
export async function untypedFaults(folder: string): Promise<Fault[]> {
  const program = join(dirname(require.resolve('oxlint/package.json')), 'bin', 'oxlint');
  const { output, errors } = await run(process.execPath, [program, '--format=json'], folder);
  const said = output.toString('utf8');
  if (!said.startsWith('{')) {
    throw new Error(`oxlint failed.\n${said}\n${errors}`.trim());
  }
  return untypedSchema.parse(JSON.parse(said)).diagnostics.map(({ message, help = '', code, filename, labels }) => ({
    file: join(folder, filename),
    line: labels[0]?.span.line ?? 1,
    column: labels[0]?.span.column ?? 1,
    // PLUGIN(RULE); where the file cannot be read there is none.
    rule: /\((.+)\)/u.exec(code ?? '')?.[1] ?? 'syntax',
    message: [message, help].join('\n').trim(),
  }));
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
  const name = `tsgolint${process.platform === 'win32' ? '.exe' : ''}`;
  return createRequire(require.resolve('oxlint-tsgolint/package.json')).resolve(
    `@oxlint-tsgolint/${process.platform}-${process.arch}/${name}`,
  );
}

/**
 * What tsgolint finds in files; the nearest tsconfig.json above each says how they are compiled.
 * @throws Error when it does not know a rule, or fails
 */
export async function typedFaults(groups: readonly TypedFiles[], types: boolean): Promise<Fault[]> {
  const asked = JSON.stringify({
    version: 2,
    configs: groups.map(({ files, rules }) => ({
      file_paths: files,
      rules: Object.entries(rules).map(([name, options]) => ({ name, ...(options === null ? {} : { options }) })),
    })),
    report_syntactic: types,
    report_semantic: types,
  });
  const { code, output, errors } = await run(tsgolint(), ['headless'], ROOT, asked, { ...MEMORY, ...process.env });
  if (code !== 0) {
    throw new Error(`tsgolint ended with code ${String(code)}.\n${output.toString('utf8')}\n${errors}`.trim());
  }
  const faults: Promise<Fault>[] = [];
  for (let start = 0; start < output.length;) {
    const end = start + HEADER + output.readUInt32LE(start);
    const kind = output.readUInt8(start + HEADER - 1);
    const message: unknown = JSON.parse(output.toString('utf8', start + HEADER, end));
    if (kind === KIND_ERROR) {
      throw new Error(`tsgolint failed: ${errorSchema.parse(message).error}`);
    }
    if (kind === KIND_DIAGNOSTIC) {
      faults.push(faultOf(diagnosticSchema.parse(message)));
    }
    start = end;
  }
  return Promise.all(faults);
}

async function faultOf({ range, rule, message, file_path: path }: z.infer<typeof diagnosticSchema>): Promise<Fault> {
  const file = resolve(ROOT, path ?? 'tsconfig.json');
  // Positions count bytes of UTF-8.
  const before = (await readFile(file)).toString('utf8', 0, range?.pos ?? 0).split('\n');
  return {
    file,
    line: before.length,
    column: (before.at(-1)?.length ?? 0) + 1,
    rule: rule ?? message.id,
    message: [message.description, message.help ?? ''].join('\n').trim(),
  };
}

/** A fault, as tsc says it. */
const textOf = ({ file, line, column, rule, message }: Fault): string =>
  `${relative(ROOT, file)}(${line},${column}): error ${rule}: ${message}`;

/** The comments in files that would switch a rule off. */
export async function switches(files: readonly string[]): Promise<Fault[]> {
  const found: Fault[] = [];
  for (const file of files) {
    const before = (await readFile(file, 'utf8')).split(SWITCH);
    if (before.length > 1) {
      const line = before[0]?.split('\n').length ?? 1;
      found.push({ file, line, column: 1, rule: 'no-switches', message: 'No comment switches a rule off.' });
    }
  }
  return found;
}

/** All that is wrong with types and rules, as text; empty where nothing is. */
async function checked(types: boolean, rules: boolean): Promise<string> {
  const tests = filesOf('test/**/*.ts');
  const others = filesOf('**/*.ts').filter((file) => !tests.includes(file));
  const faults = await Promise.all([
    typedFaults(
      [
        { files: others, rules: rules ? TYPED : {} },
        { files: tests, rules: rules ? { ...TYPED, ...TYPED_OF_TESTS } : {} },
      ],
      types,
    ),
    rules ? untypedFaults(ROOT) : [],
    rules ? switches([...others, ...tests]) : [],
  ]);
  return faults.flat().map(textOf).join('\n');
}

if (import.meta.main) {
  const [asked] = process.argv.slice(2);
  const said = await checked(asked !== 'rules', asked !== 'types');
  if (said !== '') {
    console.log(said);
    process.exitCode = 1;
  }
}
