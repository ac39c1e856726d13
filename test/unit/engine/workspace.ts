/** A folder with a tiny team, its configuration and data, and the command line in it, in this process or its own. */

import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import type { TestContext } from 'node:test';
import { openStoreForReading, type StoreReader } from '../../../src/store/read/reader.ts';
import { commandLine, programOf } from '../../support/programs.ts';
import { FOUR_TEXT, jsonl, makeTeam, PAIR_TEXT, sums } from '../training/tinyTeam.ts';

const CLI = programOf('cli');

export const CONFIG = `title: Tiny team
model: team
protocol: pair.json
task: {train_file: train.jsonl, evaluation_file: held.jsonl}
steps: 2
instances_per_step: 2
sampling: {max_new_tokens: 6}
ppo: {learning_rate: 0.002}
evaluation: {instances: 4}
device: {threads: 1}
`;

/** Makes the folder; the files of its model are the same whenever it is made. */
export async function makeWorkspace(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'c3-work-'));
  await makeTeam(join(folder, 'team'));
  writeFileSync(join(folder, 'pair.json'), PAIR_TEXT);
  writeFileSync(join(folder, 'four.json'), FOUR_TEXT);
  writeFileSync(join(folder, 'tiny.c3.yaml'), CONFIG);
  writeFileSync(join(folder, 'train.jsonl'), jsonl(sums(6)));
  writeFileSync(join(folder, 'held.jsonl'), jsonl(sums(6, 100)));
  return folder;
}

/** A copy of a workspace for one test. */
export function copyOf(t: TestContext, workspace: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'c3-copy-'));
  cpSync(workspace, folder, { recursive: true });
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly stdin?: string;
}

export interface HereOptions extends CommandOptions {
  /** Aborts as Ctrl+C does. */
  readonly signal?: AbortSignal;
  /** Hears what the command writes for whoever watches. */
  readonly onNote?: (text: string) => void;
}

export interface ApartOptions extends CommandOptions {
  /** A line of shell before the command, in the same process group. */
  readonly shell?: string;
}

/** Keeps what is written. */
class Written extends Writable {
  text = '';
  private readonly onText: (text: string) => void;

  constructor(onText: (text: string) => void = () => undefined) {
    super({ decodeStrings: false });
    this.onText = onText;
  }

  override _write(chunk: string | Buffer, _: string, done: () => void): void {
    const text = String(chunk);
    this.text += text;
    this.onText(text);
    done();
  }
}

/**
 * Runs `c3` to its end in this process: what it says and its exit code, as a process of its own would. What is of the
 * process (its start, signals, a reader that leaves) shows with c3Apart only.
 */
export async function c3(
  folder: string,
  args: readonly string[],
  { stdin = '', signal = new AbortController().signal, onNote }: HereOptions = {},
): Promise<Finished> {
  // All of the engine: tests that need a folder alone do not load it.
  const { main } = await commandLine();
  const [stdout, stderr] = [new Written(), new Written(onNote)];
  const code = await main(args, {
    stdin: Readable.from([Buffer.from(stdin)]),
    stdout,
    stderr,
    areInherited: false,
    folder,
    env: process.env,
    signal,
  });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

/** Starts `c3` in a folder, as a process of its own. */
export function startC3(
  folder: string,
  args: readonly string[],
  { shell }: ApartOptions = {},
): ChildProcessByStdio<Writable, Readable, Readable> {
  const command = [process.execPath, CLI, ...args];
  const [program = '', ...rest] =
    shell === undefined ? command : ['bash', '-c', `${shell}; exec "$@"`, 'c3', ...command];
  return spawn(program, rest, { cwd: folder, stdio: ['pipe', 'pipe', 'pipe'] });
}

/** Runs `c3` to its end, as a process of its own. */
export async function c3Apart(folder: string, args: readonly string[], options: ApartOptions = {}): Promise<Finished> {
  const child = startC3(folder, args, options);
  child.stdin.end(options.stdin ?? '');
  return finished(child);
}

/** Waits until the process has written a text to standard error. */
export function hears(child: ChildProcessByStdio<Writable, Readable, Readable>, text: string): Promise<void> {
  let heard = '';
  return new Promise((resolve, reject) => {
    child.stderr.on('data', (chunk: Buffer) => {
      heard += chunk.toString();
      if (heard.includes(text)) {
        resolve();
      }
    });
    child.once('close', () => reject(new Error(`The process ended without "${text}": ${heard}`)));
  });
}

/** Collects what the process prints until it ends. */
export function finished(child: ChildProcessByStdio<Writable, Readable, Readable>): Promise<Finished> {
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
}

/** What a command failed with: the last line of its standard error, and the only one that is no remark or progress. */
export function errorOf({ stderr }: Finished): string {
  const lines = stderr.split('\n');
  if (lines.at(-1) !== '' || lines.findIndex((line) => line.startsWith('c3: ')) !== lines.length - 2) {
    throw new Error(`Not one error at the end: ${stderr}`);
  }
  return lines.at(-2) ?? '';
}

/** Every file below a folder with the hash of its bytes. */
export function contentsOf(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).map(
    (entry) => [join(entry.parentPath, entry.name), entry.isFile()] as const,
  );
  return Object.fromEntries(
    files
      .toSorted()
      .map(([path, isFile]) => [
        path,
        isFile ? createHash('sha256').update(readFileSync(path)).digest('hex') : 'folder',
      ]),
  );
}

/** Reads the store of a workspace. */
export function withStore<Result>(folder: string, work: (store: StoreReader) => Result): Result {
  const store = openStoreForReading(join(folder, '.c3', 'c3.sqlite'));
  try {
    return work(store);
  } finally {
    store.close();
  }
}

/** The only line of a text, as JSON of an expected shape that the test then looks into. */
export function parseLine(text: string): Record<string, unknown> {
  const lines = text.split('\n');
  if (lines.length !== 2 || lines[1] !== '') {
    throw new Error(`Not exactly one line: ${text}`);
  }
  const value: unknown = JSON.parse(lines[0] ?? '');
  if (typeof value !== 'object' || value === null) {
    throw new Error(`No object: ${text}`);
  }
  return { ...value };
}
