/** What a build computes, down to the bit: the rows and weights of short runs, and what the commands say of them. */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { connect } from '../../src/store/files/sqlite.ts';
import { tablesOf, withoutClocks, type Row } from '../crash/tables.ts';
import { run as execute } from '../support/command.ts';

const HERE = resolve(import.meta.dirname, '../..');
const TEAMS = ['arithmetic', 'python'] as const;
const METHODS = ['c3', 'c3_no_replay', 'c3_full_mean', 'magrpo', 'mappo', 'sft'] as const;
const SEEDS = [0, 1] as const;
const STEPS = 6;
/** Keys whose default is another one today, as it was: with these a run is to the bit that of an earlier version. */
const EARLIER = [
  'credit.common_random_numbers=true',
  'credit.normalise_scope=group',
  'credit.merge_contexts=false',
  'credit.lone_messages=none',
  'ppo.loss_weight=token',
  'ppo.skip_zero_credit=false',
  'value_head.fit=gradient',
  'value_head.warmup_steps=0',
] as const;
/** Short evaluations: every step of the way is taken, and the time goes into training. */
const EVALUATED = 64;

/** What steps are measured by since: runs from before lack it. */
const MEASURED_SINCE: readonly string[] = ['effectiveClip', 'signal', 'explainedVariance'];

/** One run to make. */
export interface Case {
  readonly name: string;
  readonly config: string;
}

/** All of one table that does not depend on the clock: a hash of each column, by its name. */
export type TableHashes = Readonly<Record<string, string>>;

/** What one run came to. */
export interface Outcome {
  /** Hash of the weights of each snapshot, in order. */
  readonly weights: readonly string[];
  readonly files: Readonly<Record<string, string>>;
  readonly tables: Readonly<Record<string, TableHashes>>;
  /** Hashes of what the commands print, by command. */
  readonly answers: Readonly<Record<string, string>>;
}

const outcome = z.object({
  weights: z.array(z.string()),
  files: z.record(z.string(), z.string()),
  tables: z.record(z.string(), z.record(z.string(), z.string())),
  answers: z.record(z.string(), z.string()),
});

/** A record as `compare.ts --save` writes it. */
export const recordSchema = z.record(z.string(), outcome);

/**
 * Every method with both bundled teams and two seeds, and adapters on a model that is not bundled.
 * @param golden the folder of a small checkpoint
 */
export function cases(golden: string): Case[] {
  const bundled = TEAMS.flatMap((team) =>
    METHODS.flatMap((method) =>
      SEEDS.map((seed): Case => ({
        name: `${team} ${method} ${String(seed)}`,
        config: configuration(team, method, seed, ''),
      })),
    ),
  );
  const adapter = `model: ${golden}\nadapter: {rank: 4, alpha: 8, per: role}\nsampling: {max_new_tokens: 12}\n`;
  return [...bundled, { name: 'adapter c3 0', config: configuration('arithmetic', 'c3', 0, adapter) }];
}

function configuration(task: string, method: string, seed: number, more: string): string {
  const evaluation = `evaluation: {instances: ${String(EVALUATED)}}`;
  return `title: Exact\ntask: {name: ${task}}\nmethod: ${method}\nseed: ${String(seed)}\nsteps: ${String(STEPS)}\n${evaluation}\n${more}`;
}

/**
 * Makes one run with the command line of a checkout that is built.
 * @param folder new, for the run's store and snapshots; removed afterwards
 */
export async function record(checkout: string, { config }: Case, folder: string): Promise<Outcome> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'exact.c3.yaml'), config);
  const c3 = (...args: readonly string[]): Promise<string> =>
    execute(process.execPath, [join(checkout, 'dist', 'cli.js'), ...args, '--json'], { cwd: folder, all: true });
  try {
    const earlier = (await knownTo(checkout)).flatMap((override) => ['--override', override]);
    const made = documentIn(await c3('run', 'exact.c3.yaml', ...earlier));
    const { run } = z.object({ run: z.string() }).parse(JSON.parse(made));
    const names = {
      [run]: 'RUN',
      [folder]: 'FOLDER',
      [process.execPath]: 'NODE',
      [checkout]: 'CHECKOUT',
      [HERE]: 'CHECKOUT',
    };
    const store = join(folder, '.c3', 'c3.sqlite');
    const answers: Record<string, string> = {};
    const message = firstMessage(store);
    if (message !== null) {
      answers['replay'] = hash(
        named(documentIn(await c3('replay', String(message), '--alternatives', '2', '--replays', '2')), names),
      );
    }
    const tables = read(store, names);
    for (const command of ['diagnose', 'taxonomy', 'verify']) {
      // What a command refuses, such as to diagnose a run that trained nothing, it refuses in the same words.
      const answer = await c3(command, '--run', run).then(documentIn, (error: unknown) => String(error));
      answers[command] = hash(named(answer, names));
    }
    return { ...tables, files: await hashesOf(join(folder, '.c3', 'snapshots')), answers };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The overrides whose keys a checkout knows: none where its settings are not in a folder yet. */
async function knownTo(checkout: string): Promise<readonly string[]> {
  const folder = join(checkout, 'src/training/config');
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile());
  const schema = await Promise.all(files.map(({ name }) => readFile(join(folder, name), 'utf8')));
  return EARLIER.filter((override) => schema.join('\n').includes(`${/(\w+)=/u.exec(override)?.[1] ?? ''}:`));
}

/** What `c3 diagnose` says since: its document from before lacks it. */
const SAID_SINCE = 'distinctInfluence';

/**
 * The document on the standard output, without what it says of time and what earlier versions do not say; progress goes
 * before it.
 */
function documentIn(output: string): string {
  const said: unknown = JSON.parse(output.slice(output.search(/^\{/mu)), (key, value: unknown) =>
    key === SAID_SINCE ? undefined : value,
  );
  return JSON.stringify(withoutClocks(said));
}

/** The first message that was trained on; null where none was. */
function firstMessage(store: string): number | null {
  const db = connect(store, 'read');
  try {
    return db.prepare<[], number | null>("SELECT min(id) FROM decision WHERE phase = 'train'").pluck().get() ?? null;
  } finally {
    db.close();
  }
}

function read(store: string, names: Readonly<Record<string, string>>): Pick<Outcome, 'weights' | 'tables'> {
  const db = connect(store, 'read');
  try {
    const rows = tablesOf(db, names);
    const weights = (rows['snapshot'] ?? []).map((row) => String(row['weights']));
    // What the search index holds depends on its transactions; what it finds does not.
    const compared = Object.entries(rows).filter(([table]) => !table.startsWith('message_search'));
    return {
      weights,
      tables: Object.fromEntries(compared.map(([table, of]) => [table, columnHashes(of.map(asMeasuredBefore))])),
    };
  } finally {
    db.close();
  }
}

/** A row of a step without the measures that runs from before lack. */
function asMeasuredBefore(row: Row): Row {
  const { metrics } = row;
  if (typeof metrics !== 'object' || metrics === null) {
    return row;
  }
  return {
    ...row,
    metrics: Object.fromEntries(Object.entries(metrics).filter(([key]) => !MEASURED_SINCE.includes(key))),
  };
}

/** By column, so that a store with one more column is equal in all others. */
function columnHashes(rows: readonly Row[]): TableHashes {
  const columns = Object.keys(rows[0] ?? {});
  return Object.fromEntries(columns.map((column) => [column, hash(JSON.stringify(rows.map((row) => row[column])))]));
}

/** Weights as they lie in files, checkpoints with the optimizer among them. */
async function hashesOf(folder: string): Promise<Record<string, string>> {
  const names = (await readdir(folder).catch(() => [])).sort();
  const hashes = names.map(async (name) => [
    name.replace(/-[0-9a-f]{16,}-/u, '-RUN-'),
    hash(await readFile(join(folder, name))),
  ]);
  return Object.fromEntries(await Promise.all(hashes)) as Record<string, string>;
}

function named(text: string, names: Readonly<Record<string, string>>): string {
  return Object.entries(names).reduce((all, [name, word]) => all.replaceAll(name, word), text);
}

function hash(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}
