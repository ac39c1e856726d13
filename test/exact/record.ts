/** What a build computes, down to the bit: the rows and weights of short runs, and what the commands say of them. */

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { nameKeyVariable } from '../../src/shared/endpointKeys.ts';
import { connect } from '../../src/store/files/sqlite.ts';
import { tablesOf, withoutClocks, type Row } from '../crash/tables.ts';
import { run as execute } from '../support/command.ts';
import { RECORDINGS } from '../support/recordings.ts';

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

/** Columns that differ from run to run: when calls began, and what a server says to the probe without a seed. */
const UNLIKE: Readonly<Record<string, readonly string[]>> = {
  measurement: ['start', 'seconds', 'first_token_seconds'],
  spending: ['completion'],
};
/** What steps are measured by since: runs from before lack it. */
const MEASURED_SINCE: readonly string[] = ['effectiveClip', 'signal', 'explainedVariance'];

/** One run to make. */
export interface Case {
  readonly name: string;
  /** Its configuration, and what that reads beside it. */
  readonly config: string;
  readonly files?: Readonly<Record<string, string>>;
  /** Settings that were the default once; only runs that earlier versions can make have them. */
  readonly isEarlier?: boolean;
  /** A bundled team behind a server that answers for roles: its address is in the place of SERVER. */
  readonly serves?: string;
  /** The run is what a program says, with what continues it. */
  readonly program?: { readonly file: string; readonly team: string };
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

const { chain, removal, teams } = RECORDINGS;
/** Methods and teams that came later: trust regions, removal, rounds, turns, tools, votes. */
const LATER: readonly Case[] = [
  { name: 'chain teamtr', config: chain.files['chain.c3.yaml'] },
  { name: 'hints ccpo', config: removal.files['pair.c3.yaml'] },
  { name: 'logic ccpo', config: removal.files['voters.c3.yaml'] },
  { name: 'functions magrpo in turns', config: teams.files['turns.c3.yaml'] },
  ...['tiny.c3.yaml', 'calculator.c3.yaml', 'voters.c3.yaml'].map((file) => ({
    name: `arithmetic ${file.replace('.c3.yaml', '').replace('tiny', 'rounds')}`,
    config: Object.entries(teams.files).find(([name]) => name === file)?.[1] ?? '',
    files: teams.files,
  })),
];

const PROBLEM =
  'Tim starts with 19 toys. Tim gives 7 toys to Ned. Then Tim finds 5 toys. How many toys does Tim have now?';
/** A program of two agents, without a library. */
const PROGRAM = `
const ask = async (role, system, max_tokens, user) => {
  const response = await fetch(process.env.OPENAI_BASE_URL + '/chat/completions', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: 'Bearer ' + process.env.OPENAI_API_KEY,
      'x-c3-role': role,
    },
    body: JSON.stringify({
      ...{ model: 'any', temperature: 1, seed: 1, max_tokens },
      messages: [
        { role: 'system', content: system },
        { role: 'user', content: user },
      ],
    }),
  });
  const { choices } = await response.json();
  return choices[0].message.content;
};
const problem = 'Problem:\\n' + ${JSON.stringify(PROBLEM)};
const plan = await ask('planner', 'Plan.', 16, problem);
console.log(await ask('actor', 'Solve.', 48, problem + '\\n\\nContext:\\n' + plan));
`;

/** Roles that a server answers, one request after another, and a program that was recorded. */
const ELSEWHERE: readonly Case[] = [
  {
    name: 'arithmetic server',
    serves: 'arithmetic',
    config: JSON.stringify({
      steps: 0,
      evaluation: { instances: 8 },
      policies: Object.fromEntries(
        ['reasoner', 'actor'].map((role) => [
          role,
          { endpoint: 'SERVER', model_name: 'c3-arithmetic', concurrency: 1 },
        ]),
      ),
    }),
  },
  {
    name: 'arithmetic program',
    config: '',
    program: {
      file: PROGRAM,
      team: JSON.stringify({
        program: ['node', 'team.mjs'],
        serve: 'arithmetic',
        evaluator: 'pattern',
        answer: '#### 17$',
        max_new_tokens: 48,
      }),
    },
  },
];

/**
 * Every method with both bundled teams and two seeds, adapters on a model that is not bundled, the methods and teams
 * that came later, a server and a recorded program.
 * @param golden the folder of a small checkpoint
 */
export function cases(golden: string): Case[] {
  const bundled = TEAMS.flatMap((team) =>
    METHODS.flatMap((method) =>
      SEEDS.map((seed): Case => ({
        name: `${team} ${method} ${seed}`,
        config: configuration(team, method, seed, ''),
        isEarlier: true,
      })),
    ),
  );
  const adapter = `model: ${golden}\nadapter: {rank: 4, alpha: 8, per: role}\nsampling: {max_new_tokens: 12}\n`;
  return [
    ...bundled,
    { name: 'adapter c3 0', config: configuration('arithmetic', 'c3', 0, adapter), isEarlier: true },
    ...LATER,
    ...ELSEWHERE,
  ];
}

function configuration(task: string, method: string, seed: number, more: string): string {
  const evaluation = `evaluation: {instances: ${EVALUATED}}`;
  return `title: Exact\ntask: {name: ${task}}\nmethod: ${method}\nseed: ${seed}\nsteps: ${STEPS}\n${evaluation}\n${more}`;
}

/**
 * Makes one run with the command line of a checkout that is built.
 * @param folder new, for the run's store and snapshots; removed afterwards
 */
export async function record(checkout: string, one: Case, folder: string): Promise<Outcome> {
  await mkdir(folder, { recursive: true });
  const cli = join(checkout, 'dist', 'cli.js');
  await using server = one.serves === undefined ? null : await serve(cli, one.serves, folder);
  await writeFile(join(folder, 'exact.c3.yaml'), one.config.replaceAll('SERVER', server?.url ?? 'SERVER'));
  for (const [name, text] of Object.entries(one.files ?? {})) {
    await writeFile(join(folder, name), text);
  }
  const c3 = (...args: readonly string[]): Promise<string> =>
    execute(process.execPath, [cli, ...args], { cwd: folder, all: true, env: { ...process.env, ...server?.env } });
  try {
    const run = await make(c3, checkout, one, folder);
    const names = {
      [run]: 'RUN',
      [folder]: 'FOLDER',
      [process.execPath]: 'NODE',
      [checkout]: 'CHECKOUT',
      [HERE]: 'CHECKOUT',
      ...(server !== null && { [server.url]: 'SERVER' }),
    };
    const store = join(folder, '.c3', 'c3.sqlite');
    const answers: Record<string, string> = {};
    const recorded = read(store, names);
    const message = firstMessage(store);
    if (message !== null) {
      const how = [
        '--alternatives',
        '2',
        '--replays',
        '2',
        ...(one.program === undefined ? [] : ['--team', 'team.yaml']),
      ];
      const replayed = named(documentIn(await c3('replay', String(message), ...how, '--json')), names);
      answers['replay'] = hash(one.program === undefined ? replayed : inAnyOrder(replayed));
    }
    // Forks of a program end in the order in which they happen to.
    const tables = one.program === undefined ? read(store, names) : recorded;
    for (const command of ['diagnose', 'taxonomy', 'verify']) {
      // What a command refuses, such as to diagnose a run that trained nothing, it refuses in the same words.
      const answer = await c3(command, '--run', run, '--json').then(documentIn, (error: unknown) => String(error));
      answers[command] = hash(named(answer, names));
    }
    return { ...tables, files: await hashesOf(join(folder, '.c3', 'snapshots')), answers };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What alternatives said and returned, whatever their order. */
function inAnyOrder(replayed: string): string {
  const { alternatives } = z
    .object({ alternatives: z.array(z.object({ text: z.string(), returns: z.array(z.number().nullable()) })) })
    .parse(JSON.parse(replayed));
  return JSON.stringify(alternatives.map((one) => JSON.stringify(one)).sort());
}

/** @returns the run */
async function make(
  c3: (...args: readonly string[]) => Promise<string>,
  checkout: string,
  { isEarlier = false, program }: Case,
  folder: string,
): Promise<string> {
  if (program !== undefined) {
    await writeFile(join(folder, 'team.mjs'), program.file);
    await writeFile(join(folder, 'team.yaml'), program.team);
    const made = await c3('record', '--task', 'arithmetic', '--json', '--', process.execPath, 'team.mjs');
    return z.object({ run: z.string() }).parse(JSON.parse(made.slice(made.search(/^\{"/mu)))).run;
  }
  const earlier = isEarlier ? (await knownTo(checkout)).flatMap((override) => ['--override', override]) : [];
  const made = documentIn(await c3('run', 'exact.c3.yaml', '--json', ...earlier));
  return z.object({ run: z.string() }).parse(JSON.parse(made)).run;
}

interface Server extends AsyncDisposable {
  readonly url: string;
  readonly env: Readonly<Record<string, string>>;
}

/** The team of a task behind the server of a checkout. */
async function serve(cli: string, task: string, folder: string): Promise<Server> {
  const child = spawn(process.execPath, [cli, 'serve', '--json', '--task', task], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const early = ended.then((): never => {
    throw new Error('The server ended.');
  });
  early.catch(() => undefined);
  const [line] = (await Promise.race([once(child.stdout, 'data'), early])) as [Buffer];
  const { url, token } = z.looseObject({ url: z.string(), token: z.string() }).parse(JSON.parse(line.toString()));
  return {
    url,
    env: { [nameKeyVariable(url) ?? '']: token },
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGINT');
      await ended;
    },
  };
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

/** The first message that was trained on, else the first of all; null where there is none. */
function firstMessage(store: string): number | null {
  const db = connect(store, 'read');
  try {
    const first = db.prepare<[], number | null>(
      "SELECT coalesce(min(id) FILTER (WHERE phase = 'train'), min(id)) FROM decision",
    );
    return first.pluck().get() ?? null;
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
      tables: Object.fromEntries(
        compared.map(([table, of]) => [table, columnHashes(of.map(asMeasuredBefore), UNLIKE[table])]),
      ),
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
function columnHashes(rows: readonly Row[], unlike: readonly string[] = []): TableHashes {
  const columns = Object.keys(rows[0] ?? {}).filter((column) => !unlike.includes(column));
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
