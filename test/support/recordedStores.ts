/**
 * Small teams that are trained once for all tests that read them. The first test makes the
 * recording in the cache, and every test gets its own copy. The key of a recording covers the built
 * programs or their source, its configuration, the weights that it reads, the path of the checkout,
 * and the machine, because trained weights depend on the processor.
 */

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { copyFile, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as later } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { z } from 'zod';
import { acquireLock, StoreHeldError, type StoreLock } from '../../src/store/files/lock.ts';
import { sealPath, takeSeal } from '../../src/store/files/seal.ts';
import { connectToUri, loadSqlite, type Connection } from '../../src/store/files/sqlite.ts';
import { cacheFolder, installOnce } from './cache.ts';
import { BUILT, programOf } from './programs.ts';
import { RECORDINGS, type Recorder, type Recording, type RecordingName } from './recordings.ts';
import { runUnguarded } from './tamper.ts';

export interface Recorded {
  readonly folder: string;
  /** The path of the store. */
  readonly store: string;
  /** All runs, in order. */
  readonly runs: readonly string[];
  /** The first run, which is the only one of most recordings. */
  readonly run: string;
}

const ROOT = join(import.meta.dirname, '..', '..');
const PREFIX = 'recorded-';
/** Names in the folder of a recording: the files to copy, and facts about the recording. */
const FILES = 'files';
const FACTS = 'facts.json';
const STORE = join('.c3', 'c3.sqlite');
/** Number of recordings of a name that are kept. */
const KEPT = 3;
/** Time for which a used recording is always kept. */
const KEPT_MILLISECONDS = 3_600_000;
/**
 * Maximum wait for a recording of another process, several times as long as the longest one takes.
 */
const PATIENCE_MILLISECONDS = 300_000;
const POLL_MILLISECONDS = 50;

const facts = z.object({ folder: z.string(), runs: z.array(z.string()) });

/**
 * Puts a copy of a named recording into a folder, which may have other files but no store.
 * @throws Error if the recording cannot be made
 */
export function copyRecorded(name: RecordingName, folder: string): Promise<Recorded> {
  return copyRecording(name, RECORDINGS[name], folder);
}

/** Copies a named recording into a new folder, which the caller must remove. */
export async function newRecorded(name: RecordingName): Promise<Recorded> {
  return copyRecorded(name, await mkdtemp(join(tmpdir(), 'c3-recorded-')));
}

/** Puts a copy of a recording into a folder. @param name name of its folder in the cache */
export async function copyRecording(name: string, recording: Recording, folder: string): Promise<Recorded> {
  const store = join(folder, STORE);
  if (existsSync(store)) {
    throw new Error(`${folder} has a store already.`);
  }
  const recorded = await madeOnce(name, recording);
  const { folder: from, runs } = facts.parse(JSON.parse(await readFile(join(recorded, FACTS), 'utf8')));
  const [run] = runs;
  if (run === undefined) {
    throw new Error(`The recording ${name} has no run.`);
  }
  await mkdir(dirname(store), { recursive: true, mode: 0o700 });
  const original = join(recorded, FILES, STORE);
  await cp(join(recorded, FILES), folder, { recursive: true, filter: (source) => !source.startsWith(original) });
  await moveStore(original, { from, to: realpathSync(folder) }, store);
  return { folder, store, runs, run };
}

/**
 * Copies a store and replaces its old folder in the paths of recipes and weights. The copy appears
 * atomically and sealed, because an editor may be watching the folder.
 */
async function moveStore(original: string, places: Places, store: string): Promise<void> {
  const stage = await mkdtemp(join(tmpdir(), 'c3-staged-'));
  const staged = join(stage, 'c3.sqlite');
  try {
    await copyFile(original, staged);
    await copyFile(sealPath(original), sealPath(staged));
    const seal = takeSeal(staged);
    const db = new (loadSqlite())(staged);
    try {
      runUnguarded(db, () => renamePlaces(db, places));
    } finally {
      db.close();
    }
    seal.seal();
    await copyFile(sealPath(staged), sealPath(store));
    await copyFile(staged, `${store}.part`);
    await rename(`${store}.part`, store);
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
}

interface Places {
  readonly from: string;
  readonly to: string;
}

function renamePlaces(db: Connection, { from, to }: Places): void {
  for (const { table, column } of findColumnsWithText(db, from)) {
    db.prepare(
      `UPDATE "${table}" SET "${column}" = replace("${column}", $from, $to) WHERE instr("${column}", $from) > 0`,
    ).run({ from, to });
  }
}

interface Column {
  readonly table: string;
  readonly column: string;
}

/** Returns the columns in which a text occurs. */
function findColumnsWithText(db: Connection, text: string): Column[] {
  return db
    .prepare<[], Column>(
      `SELECT t.name AS "table", c.name AS "column" FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
       WHERE t.type = 'table' AND t.sql NOT LIKE 'CREATE VIRTUAL%' AND t.name NOT LIKE 'sqlite%'`,
    )
    .all()
    .filter(
      ({ table, column }) =>
        db.prepare(`SELECT 1 FROM "${table}" WHERE instr("${column}", ?) > 0 LIMIT 1`).get(text) !== undefined,
    );
}

/** The recordings that this process requested. */
const asked = new Map<string, Promise<string>>();

/** Returns the folder of a complete recording. One process makes it on first use. */
async function madeOnce(name: string, recording: Recording): Promise<string> {
  const key = hashRecording(recording);
  const folder = `${PREFIX}${name}-${key}`;
  const found = asked.get(folder) ?? makeOnce(name, folder, recording);
  asked.set(folder, found);
  try {
    return await found;
  } catch (error) {
    asked.delete(folder);
    throw error;
  }
}

async function makeOnce(name: string, folder: string, recording: Recording): Promise<string> {
  const cache = cacheFolder();
  await mkdir(cache, { recursive: true });
  const made = join(cache, folder);
  if (existsSync(made)) {
    // A recording gets this name only when it is complete.
    await use(made);
    return made;
  }
  const lock = await acquireRecordingLock(made);
  try {
    const path = await installOnce(folder, (unfinished) => record(recording, unfinished));
    await use(path);
    await removeOld(name, folder);
    return path;
  } finally {
    lock.release();
  }
}

/** Updates the time of the last use of a recording. */
async function use(path: string): Promise<void> {
  const now = new Date();
  await utimes(path, now, now);
}

/**
 * Acquires the lock of a recording, waiting for the process that makes it. A killed process holds
 * no lock.
 */
async function acquireRecordingLock(made: string): Promise<StoreLock> {
  const until = Date.now() + PATIENCE_MILLISECONDS;
  for (;;) {
    try {
      return acquireLock(made, { kind: 'command', what: 'recordings of tests' });
    } catch (error) {
      if (!(error instanceof StoreHeldError) || Date.now() > until) {
        throw error;
      }
      await later(POLL_MILLISECONDS);
    }
  }
}

/** Makes a recording in an empty folder. */
async function record({ files, prepare, commands, further }: Recording, unfinished: string): Promise<void> {
  const folder = join(realpathSync(unfinished), FILES);
  await mkdir(folder);
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  await prepare?.(folder);
  const c3: Recorder['c3'] = async (...args) => {
    const { stdout } = await promisify(execFile)(process.execPath, [programOf('cli'), ...args, '--json'], {
      cwd: folder,
      maxBuffer: 1 << 26,
    });
    return z.record(z.string(), z.unknown()).parse(JSON.parse(stdout));
  };
  for (const command of commands) {
    await c3(...command);
  }
  await further?.({ folder, c3 });
  await writeFile(join(unfinished, FACTS), JSON.stringify({ folder, runs: await readRecordedRuns(folder) }));
}

/**
 * Returns the runs of a recording.
 * @throws Error if a copy of it would still name the original folder
 */
async function readRecordedRuns(folder: string): Promise<string[]> {
  const store = join(folder, STORE);
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (path.startsWith(`${store}-`)) {
      throw new Error(`${path} is open still.`);
    }
    if (entry.isFile() && path !== store && (await readFile(path)).includes(folder)) {
      throw new Error(`${path} names its folder, and a copy would name it too.`);
    }
  }
  // No process writes the store, so it is opened as immutable and no further files are made beside
  // it.
  const db = connectToUri(store, `${pathToFileURL(store).href}?immutable=1`);
  try {
    for (const { table, column } of findColumnsWithText(db, folder)) {
      const kinds = db.prepare<[], { kind: string }>(`SELECT DISTINCT typeof("${column}") AS kind FROM "${table}"`);
      if (kinds.all().some(({ kind }) => kind === 'blob')) {
        throw new Error(`${table}.${column} names its folder in bytes, and a copy would name it too.`);
      }
    }
    return db
      .prepare<[], { id: string }>('SELECT id FROM run ORDER BY rowid')
      .all()
      .map(({ id }) => id);
  } finally {
    db.close();
  }
}

/**
 * Removes unused recordings of other programs, except the newest, which another checkout may use.
 */
async function removeOld(name: string, current: string): Promise<void> {
  const cache = cacheFolder();
  const others = await Promise.all(
    (await readdir(cache))
      .filter((entry) => entry !== current && new RegExp(`^${PREFIX}${name}-[0-9a-f]+$`, 'u').test(entry))
      .map(async (entry) => ({ entry, used: (await stat(join(cache, entry))).mtimeMs })),
  );
  const old = others.toSorted((a, b) => b.used - a.used).slice(KEPT - 1);
  for (const { entry } of old.filter(({ used }) => used < Date.now() - KEPT_MILLISECONDS)) {
    await rm(join(cache, entry), { recursive: true, force: true });
  }
}

/** Hashes all inputs of a recording. */
function hashRecording({ files, reads, prepare, commands, further }: Recording): string {
  const hash = createHash('sha256').update(machineAndPrograms());
  const parts = [
    ...[Object.entries(files), commands, prepare?.toString(), further?.toString()],
    reads.flatMap(filesBelow).map((path) => [path, hashFiles([join(ROOT, path)])]),
  ];
  return hash.update(JSON.stringify(parts)).digest('hex').slice(0, 16);
}

let known: string | undefined;

/** Returns the common inputs of all recordings, which do not change while a process runs. */
function machineAndPrograms(): string {
  known ??= JSON.stringify([
    ...[process.version, process.platform, process.arch],
    ...[cpus()[0]?.model, availableParallelism()],
    // A store contains the paths of the bundled models, which are wrong if the checkout was moved.
    realpathSync(ROOT),
    hashFiles([join(ROOT, 'package-lock.json'), ...programs()]),
  ]);
  return known;
}

/**
 * Returns the files of the programs that make recordings: the engine's bundles, or all source
 * files.
 */
function programs(): string[] {
  const built = process.env[BUILT];
  const found =
    built === undefined || built === ''
      ? globSync(join(ROOT, 'src', '**', '*.ts'))
      : ['*.js', 'sandbox/*.mjs', 'text/*.mjs'].flatMap((pattern) => globSync(join(built, pattern)));
  return found.toSorted();
}

function filesBelow(path: string): string[] {
  return statSync(join(ROOT, path)).isFile()
    ? [path]
    : readdirSync(join(ROOT, path), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1))
        .toSorted();
}

function hashFiles(paths: readonly string[]): string {
  const hash = createHash('sha256');
  for (const path of paths) {
    hash.update(readFileSync(path));
  }
  return hash.digest('hex');
}
