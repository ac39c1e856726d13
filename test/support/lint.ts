/**
 * Checks types and lint rules of the whole repository: node test/support/lint.ts [types|rules]
 *
 * The rules are those of oxlint.config.ts. oxlint runs the rules that need no types. tsgolint,
 * which uses the native TypeScript, runs the rules that need types and the type check. It is called
 * directly, because oxlint does not know all of its rules. Without an argument, both are checked.
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

/** One error. For a type error, `rule` is a code as TS2322. Lines and columns count from 1. */
export interface Fault {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly rule: string;
  readonly message: string;
}

/**
 * Matches comments that switch a rule off. This is not a lint rule, because a comment could switch
 * it off.
 */
const SWITCH = /oxlint-(?:disable|enable)/u;

/** Returns the TypeScript files of the repository, which are those of tsconfig.json. */
const listTreeFiles = (pattern: string): string[] =>
  globSync(pattern, { cwd: ROOT, exclude: ['dist', 'node_modules', 'test/artifacts'] }).map((file) => join(ROOT, file));

interface Ended {
  readonly code: number | null;
  readonly output: Buffer;
  readonly errors: string;
}

/** Runs a program in a folder with an input text. */
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
  const kill = (): boolean => child.kill('SIGKILL');
  process.once('exit', kill);
  child.stdin.end(input);
  const [output, errors, code] = await Promise.all([buffer(child.stdout), text(child.stderr), ended]);
  process.off('exit', kill);
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
 * Returns the errors that oxlint finds in a folder with an oxlint.config.ts.
 * @throws Error if oxlint cannot read its configuration
 */
export async function findUntypedFaults(folder: string): Promise<Fault[]> {
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
    // PLUGIN(RULE), or absent if the file cannot be parsed.
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

/** Header bytes of a tsgolint message: its length (4 bytes) and its kind (1 byte). JSON follows. */
const HEADER = 5;
const KIND_ERROR = 0;
const KIND_DIAGNOSTIC = 1;

/**
 * Rare garbage collection within a memory limit, which takes a third less processor time than Go's
 * default.
 */
const MEMORY = { GOGC: '400', GOMEMLIMIT: '3GiB' };

/** Returns the path of the tsgolint executable for this machine. */
function tsgolint(): string {
  const name = `tsgolint${process.platform === 'win32' ? '.exe' : ''}`;
  return createRequire(require.resolve('oxlint-tsgolint/package.json')).resolve(
    `@oxlint-tsgolint/${process.platform}-${process.arch}/${name}`,
  );
}

/**
 * Returns the errors that tsgolint finds in files, with the nearest tsconfig.json above each file.
 * @throws Error if tsgolint does not know a rule or fails
 */
export async function findTypedFaults(groups: readonly TypedFiles[], types: boolean): Promise<Fault[]> {
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
      faults.push(toFault(diagnosticSchema.parse(message)));
    }
    start = end;
  }
  return Promise.all(faults);
}

async function toFault({ range, rule, message, file_path: path }: z.infer<typeof diagnosticSchema>): Promise<Fault> {
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

/** Formats an error like tsc. */
const formatFault = ({ file, line, column, rule, message }: Fault): string =>
  `${relative(ROOT, file)}(${line},${column}): error ${rule}: ${message}`;

/** Finds comments that would switch a rule off. */
export async function findSwitches(files: readonly string[]): Promise<Fault[]> {
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

/** Checks types and rules. Returns the errors as text, which is empty if there are none. */
async function checked(types: boolean, rules: boolean): Promise<string> {
  const tests = listTreeFiles('test/**/*.ts');
  const others = listTreeFiles('**/*.ts').filter((file) => !tests.includes(file));
  const faults = await Promise.all([
    findTypedFaults(
      [
        { files: others, rules: rules ? TYPED : {} },
        { files: tests, rules: rules ? { ...TYPED, ...TYPED_OF_TESTS } : {} },
      ],
      types,
    ),
    rules ? findUntypedFaults(ROOT) : [],
    rules ? findSwitches([...others, ...tests]) : [],
  ]);
  return faults.flat().map(formatFault).join('\n');
}

if (import.meta.main) {
  process.once('SIGTERM', () => process.exit(143));
  const [asked] = process.argv.slice(2);
  const said = await checked(asked !== 'rules', asked !== 'types');
  if (said !== '') {
    console.log(said);
    process.exitCode = 1;
  }
}
